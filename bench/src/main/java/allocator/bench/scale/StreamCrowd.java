package allocator.bench.scale;

import allocator.bench.subject.IdleStream;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** Streams with live blocks each. */
final class StreamCrowd extends Crowd {
    private static final int BLOCKS = 8;
    private static final int MOST_BYTES = 8192;

    private final StreamMemory memory;
    private final @Nullable SyncStream[] streams;
    private final long[] blocks;
    private final SplittableRandom random = new SplittableRandom(2);

    StreamCrowd(StreamMemory memory, int most) {
        this.memory = memory;
        streams = new SyncStream[most];
        blocks = new long[most * BLOCKS];
    }

    private long alloc(SyncStream stream) {
        return memory.alloc(1 + random.nextInt(MOST_BYTES), stream);
    }

    private SyncStream stream(int index) {
        return Objects.requireNonNull(streams[index]);
    }

    @Override
    void add(int index) {
        final SyncStream stream = new IdleStream(memory.info());
        streams[index] = stream;
        for (int i = 0; i < BLOCKS; i++) {
            blocks[index * BLOCKS + i] = alloc(stream);
        }
    }

    @Override
    SequencedMap<String, IntConsumer> operations() {
        final SequencedMap<String, IntConsumer> operations = new LinkedHashMap<>();
        operations.put("free and allocate", this::replace);
        operations.put("the same and the end of the run", count -> memory.endRun(stream(replace(count))));
        operations.put("a stream comes and goes", this::comeAndGo);
        return operations;
    }

    private int replace(int count) {
        final int block = random.nextInt(count * BLOCKS);
        memory.free(blocks[block]);
        blocks[block] = alloc(stream(block / BLOCKS));
        return block / BLOCKS;
    }

    private void comeAndGo(int ignored) {
        final SyncStream stream = new IdleStream(memory.info());
        memory.free(alloc(stream));
        memory.releaseStream(stream);
    }

    @Override
    void remove(int index) {
        for (int i = 0; i < BLOCKS; i++) {
            memory.free(blocks[index * BLOCKS + i]);
        }
        memory.releaseStream(stream(index));
        streams[index] = null;
    }

    @Override
    void shrink() {
        memory.shrink();
    }

    @Override
    public void close() {
        memory.close();
    }
}
