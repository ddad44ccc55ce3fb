package allocator.bench.subject;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.OptionalLong;

/** Netty's direct buffers, on threads of the kind that its allocators keep caches for. */
final class NettySubject extends Subject {
    private final ByteBufAllocator allocator;

    private NettySubject(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    static NettySubject pooled() {
        return new NettySubject(new PooledByteBufAllocator(true));
    }

    static NettySubject adaptive() {
        return new NettySubject(new AdaptiveByteBufAllocator(true));
    }

    @Override
    public Slots slots(int count) {
        final ByteBuf[] blocks = new ByteBuf[count];
        return new Slots() {
            @Override
            public void alloc(int slot, int byteSize) {
                blocks[slot] = allocator.directBuffer(byteSize, byteSize);
            }

            @Override
            public void free(int slot) {
                blocks[slot].release();
            }

            @Override
            public void touch(int slot, int byteSize) {
                for (int i = 0; i < byteSize; i += AddressSlots.PAGE) {
                    blocks[slot].setByte(i, 1);
                }
            }
        };
    }

    @Override
    public Thread thread(Runnable work) {
        return new FastThreadLocalThread(work);
    }

    @Override
    public OptionalLong bytesHeld() {
        return OptionalLong.of(
                ((ByteBufAllocatorMetricProvider) allocator).metric().usedDirectMemory());
    }

    @Override
    public void close() {
        // Its memory goes with the JVM.
    }
}
