package allocator.trace;

import allocator.spi.Allocator;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Records the allocations and frees of allocators as a {@linkplain allocator.trace trace}. To record a session, pass
 * the recorder as its {@linkplain allocator.runtime.SessionOptions.Builder#decorator decorator}; the program is the
 * same otherwise:
 *
 * <pre>{@code
 * try (Recorder recorder = new Recorder(Path.of("model.csv.gz"));
 *         Session session = environment.openSession(
 *                 SessionOptions.builder().decorator(recorder::wrap).build())) {
 *     session.run(RunOptions.DEFAULT, run -> {
 *         final long activations = run.allocator().alloc(1 << 20);
 *         run.allocator().free(activations);
 *     });
 * }
 * }</pre>
 *
 * <p>Only calls of the {@linkplain #wrap wrapper} are recorded. All wrapped allocators share one file; block ids count
 * up from 0. An allocation without a stream is on stream 0; streams are numbered from 1 in order of appearance. Whether
 * memory is read-only, its alignment, and the ends of streams are not recorded. A request that fails or has no bytes is
 * not recorded, and neither is the free of a block that was not allocated through the recorder. A free that fails, so
 * that the block is still live, is followed by an allocation, or reserve, with the id of that block.
 *
 * <p>Recording never fails an allocation or a free. If the file cannot be written, or the Java heap or a thread's stack
 * ends while an event is recorded, recording stops, and {@link #close} throws.
 *
 * <p>Safe for use by any thread. A free is recorded before the memory can be allocated again, and an allocation after
 * it succeeded, so the order of events in the file can be replayed. Each event is written under one lock, which
 * sometimes waits for the file. The memory needed grows with the live blocks, not with the number of events.
 */
public final class Recorder implements AutoCloseable {
    /** The stream of a block that was reserved. */
    private static final int RESERVED = -1;

    private final Object lock = new Object();
    private final TraceWriter writer;
    private final BlockTable blocks = new BlockTable();
    private final LongIntMap streamNumbers = new LongIntMap();
    private long nextId;
    private boolean isClosed;

    /** What ended the recording. A wrapper sets it without the lock if its thread's stack ends before the lock. */
    volatile @Nullable Throwable failure;

    /**
     * Starts recording.
     *
     * @param file the trace, which exists once the recorder is closed; gzip if its name ends in {@code .gz}
     * @throws IOException if the folder is missing or cannot be written
     */
    public Recorder(Path file) throws IOException {
        writer = new TraceWriter(file);
    }

    /**
     * {@return an allocator that forwards to another one and records its allocations and frees} It implements the same
     * interfaces of the SPI.
     *
     * @param allocator the allocator; wrap it only once
     */
    public Allocator wrap(Allocator allocator) {
        return new RecordedAllocator(this, allocator);
    }

    /** Records a block that was just allocated; {@code streamId} is 0 for none. {@code isReserve} if by reserve. */
    void allocated(LongIntMap slots, long address, long byteSize, long streamId, boolean isReserve) {
        synchronized (lock) {
            if (!isRecording()) {
                return;
            }
            try {
                // The address was allocated again, so the block that had it before is gone.
                final Freed ignored = free(slots, address);
                final int slot = blocks.add(nextId++, byteSize, isReserve ? RESERVED : streamNumber(streamId));
                slots.put(address, slot);
                write(blocks.id(slot), byteSize, blocks.stream(slot));
            } catch (Throwable e) {
                failure = e;
            }
        }
    }

    /** A block whose free was recorded. */
    record Freed(long id, long byteSize, int stream) {}

    /** Records a block that is about to be freed; returns it, or {@code null} if it is not recorded. */
    @Nullable
    Freed freeing(LongIntMap slots, long address) {
        synchronized (lock) {
            if (!isRecording()) {
                return null;
            }
            try {
                return free(slots, address);
            } catch (Throwable e) {
                failure = e;
                return null;
            }
        }
    }

    /** Records that a block is live after all, since its free has failed. */
    void restore(LongIntMap slots, long address, Freed freed) {
        synchronized (lock) {
            if (!isRecording()) {
                return;
            }
            try {
                slots.put(address, blocks.add(freed.id, freed.byteSize, freed.stream));
                write(freed.id, freed.byteSize, freed.stream);
            } catch (Throwable e) {
                failure = e;
            }
        }
    }

    private void write(long id, long byteSize, int stream) throws IOException {
        if (stream == RESERVED) {
            writer.reserve(id, byteSize);
        } else {
            writer.allocation(id, byteSize, stream);
        }
    }

    private @Nullable Freed free(LongIntMap slots, long address) throws IOException {
        final int slot = slots.remove(address);
        if (slot == LongIntMap.NONE) {
            return null;
        }
        final Freed freed = new Freed(blocks.id(slot), blocks.byteSize(slot), blocks.stream(slot));
        blocks.remove(slot);
        writer.free(freed.id, freed.byteSize, Math.max(0, freed.stream));
        return freed;
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
     * Stops recording and completes the file. The wrapped allocators work on, unrecorded. A second call does nothing.
     *
     * @throws IOException if an event or the end of the file could not be written; no file exists then
     */
    @Override
    public void close() throws IOException {
        synchronized (lock) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            final Throwable ended = failure;
            if (ended == null) {
                writer.close();
                return;
            }
            try {
                writer.discard();
            } catch (IOException e) {
                ended.addSuppressed(e);
            }
            throw ended instanceof IOException e ? e : new IOException("the recording ended early: " + ended, ended);
        }
    }
}
