package allocator.bench.scale;

import allocator.bench.subject.IdleStream;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Streams with live blocks each. */
final class StreamCrowd extends Crowd {
    private static final int BLOCKS = 8;
    private static final int MOST_BYTES = 8192;

    private final StreamMemory memory;
    private final @Nullable SyncStream[] streams;
    private final long[] blocks;
    private final SplittableRandom random = new SplittableRandom(2);

    /** An allocator whose streams end their runs and close. */
    record StreamMemory(
            StreamAwareAllocator allocator,
            Consumer<SyncStream> endRun,
            Consumer<SyncStream> releaseStream,
            Runnable shrink,
            Runnable close) {}

    StreamCrowd(StreamMemory memory, int most) {
        this.memory = memory;
        streams = new SyncStream[most];
        blocks = new long[most * BLOCKS];
    }

    private long alloc(SyncStream stream) {
        return memory.allocator.allocOnStream(1 + random.nextInt(MOST_BYTES), stream);
    }

    private SyncStream stream(int index) {
        return Objects.requireNonNull(streams[index]);
    }

    @Override
    void add(int index) {
        final SyncStream stream = new IdleStream(memory.allocator.info());
        streams[index] = stream;
        for (int i = 0; i < BLOCKS; i++) {
            blocks[index * BLOCKS + i] = alloc(stream);
        }
    }

    @Override
    void use(int count) {
        replace(count);
    }

    @Override
    void useAndEndRun(int count) {
        memory.endRun.accept(stream(replace(count)));
    }

    private int replace(int count) {
        final int block = random.nextInt(count * BLOCKS);
        memory.allocator.free(blocks[block]);
        blocks[block] = alloc(stream(block / BLOCKS));
        return block / BLOCKS;
    }

    @Override
    void comeAndGo() {
        final SyncStream stream = new IdleStream(memory.allocator.info());
        memory.allocator.free(alloc(stream));
        memory.releaseStream.accept(stream);
    }

    @Override
    void remove(int index) {
        for (int i = 0; i < BLOCKS; i++) {
            memory.allocator.free(blocks[index * BLOCKS + i]);
        }
        memory.releaseStream.accept(stream(index));
        streams[index] = null;
    }

    @Override
    void shrink() {
        memory.shrink.run();
    }

    @Override
    public void close() {
        memory.close.run();
    }
}
