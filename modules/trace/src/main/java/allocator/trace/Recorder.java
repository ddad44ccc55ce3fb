package allocator.trace;

import allocator.spi.Allocator;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Records what goes through allocators as a {@linkplain allocator.trace trace}, while they are used. To record a
 * session, give it the recorder as its {@linkplain allocator.runtime.SessionOptions.Builder#decorator decorator}; the
 * work itself does not change:
 *
 * <p>{@snippet lang="java" : try (Recorder recorder = new Recorder(Path.of("model.csv.gz")); Session session =
 * environment.openSession( SessionOptions.builder().decorator(recorder::wrap).build())) {
 * session.run(RunOptions.DEFAULT, run -> { final long activations = run.allocator().allocOnStream(1 << 20,
 * run.stream(0)); run.allocator().free(activations); }); } }
 *
 * <p>Only what goes through the {@linkplain #wrap wrapped} form of an allocator is recorded. Blocks of all wrapped
 * allocators share one file; their ids count up from 0. Memory that is allocated without a stream is on stream 0; the
 * streams are numbered from 1 in order of appearance. A reserve is recorded as an allocation; a request that fails or
 * has no bytes is not recorded, and neither is the free of a block that was not allocated through the recorder.
 *
 * <p>Recording never makes an allocation or a free fail. If the file cannot be written any more, recording stops, and
 * {@link #close} says so.
 *
 * <p>Safe for use by any thread: a free is written before the memory can be handed out again and an allocation after it
 * was, so that the file's order of events is one that can be replayed. One lock is held while an event is written,
 * which now and then waits for the file. It needs memory for the blocks that live, not for those that have lived.
 */
public final class Recorder implements AutoCloseable {
    private final Object lock = new Object();
    private final TraceWriter writer;
    private final BlockTable blocks = new BlockTable();
    private final LongIntMap streamNumbers = new LongIntMap();
    private long nextId;
    private boolean isClosed;
    private @Nullable IOException failure;

    /**
     * Begins to record.
     *
     * @param file where the trace shall be once the recorder is closed; gzip if its name ends in {@code .gz}
     * @throws IOException if the folder is missing or cannot be written
     */
    public Recorder(Path file) throws IOException {
        writer = new TraceWriter(file);
    }

    /**
     * An allocator that does what another one does, and records it. It has the same abilities, told by its type.
     *
     * @param allocator the allocator; wrap it once only
     * @return the recorded form
     */
    public Allocator wrap(Allocator allocator) {
        return RecordedAllocator.of(this, allocator);
    }

    /** Notes a block that was just allocated; {@code streamId} is 0 for none. */
    void allocated(LongIntMap slots, long address, long byteSize, long streamId) {
        synchronized (lock) {
            if (!isRecording()) {
                return;
            }
            // Whoever has the address now, the block that had it before is gone.
            free(slots, address);
            final int slot = blocks.add(nextId++, byteSize, streamNumber(streamId));
            slots.put(address, slot);
            try {
                writer.allocation(blocks.id(slot), byteSize, blocks.stream(slot));
            } catch (IOException e) {
                failure = e;
            }
        }
    }

    /** Notes that a block is about to be freed. */
    void freeing(LongIntMap slots, long address) {
        synchronized (lock) {
            if (isRecording()) {
                free(slots, address);
            }
        }
    }

    private void free(LongIntMap slots, long address) {
        final int slot = slots.remove(address);
        if (slot == LongIntMap.NONE) {
            return;
        }
        blocks.remove(slot);
        try {
            writer.free(blocks.id(slot), blocks.byteSize(slot), blocks.stream(slot));
        } catch (IOException e) {
            failure = e;
        }
    }

    private boolean isRecording() {
        return !isClosed && failure == null;
    }

    private int streamNumber(long streamId) {
        if (streamId == 0) {
            return 0;
        }
        int number = streamNumbers.get(streamId);
        if (number == LongIntMap.NONE) {
            number = streamNumbers.size() + 1;
            streamNumbers.put(streamId, number);
        }
        return number;
    }

    /**
     * Ends the recording and gives the file its name. The wrapped allocators work on, unrecorded. A second call does
     * nothing.
     *
     * @throws IOException if an event or the end of the file could not be written; there is no file then
     */
    @Override
    public void close() throws IOException {
        synchronized (lock) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            writer.close();
            if (failure != null) {
                throw failure;
            }
        }
    }
}
