package allocator.bench.subject;

import java.util.OptionalLong;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** Arrow's buffers over {@code Unsafe}, from one root allocator without a limit. */
final class ArrowSubject extends Subject {
    private final BufferAllocator allocator = new RootAllocator(Long.MAX_VALUE);

    @Override
    public Slots slots(int count) {
        final ArrowBuf[] blocks = new ArrowBuf[count];
        return new Slots() {
            @Override
            public void alloc(int slot, int byteSize) {
                blocks[slot] = allocator.buffer(byteSize);
            }

            @Override
            public void free(int slot) {
                blocks[slot].close();
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
    public OptionalLong bytesHeld() {
        return OptionalLong.of(allocator.getAllocatedMemory());
    }

    @Override
    public void close() {
        allocator.close();
    }
}
