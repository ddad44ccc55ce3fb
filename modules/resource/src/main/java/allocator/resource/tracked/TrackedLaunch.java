package allocator.resource.tracked;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One piece of work on a stream and all blocks it uses. Add the blocks with {@link #uses} and call {@link #run}; or,
 * where a callback does not fit, call {@link #prepare}, submit the work, call {@link #commit}. A block that is added
 * twice counts once, with its strongest access. Not thread-safe.
 *
 * <p>Closing a prepared launch without a commit means that the work may or may not have been submitted: the next use of
 * its blocks then waits for all work submitted to the stream. {@link #cancel} means that it was not submitted.
 */
public final class TrackedLaunch implements AutoCloseable {
    private final TrackedMemory memory;
    private final SyncStream stream;
    private final List<Use> uses = new ArrayList<>();
    private boolean isPrepared;
    private boolean isOver;

    /** A use of a block by the work. */
    private record Use(TrackedBlock block, Access access) {}

    TrackedLaunch(TrackedMemory memory, SyncStream stream) {
        this.memory = memory;
        this.stream = stream;
    }

    /**
     * Adds a block that the work uses.
     *
     * @param block the block
     * @param access how the work accesses it
     * @return this launch
     * @throws TrackedBlockException if the block belongs to another memory
     * @throws IllegalStateException if the launch is already prepared
     */
    public TrackedLaunch uses(TrackedBlock block, Access access) {
        block.requireOwner(memory);
        require(!isPrepared && !isOver, "blocks must be added before a launch is prepared");
        for (int i = 0; i < uses.size(); i++) {
            if (uses.get(i).block == block) {
                if (access == Access.WRITE) {
                    uses.set(i, new Use(block, access));
                }
                return this;
            }
        }
        uses.add(new Use(block, access));
        return this;
    }

    /**
     * Makes a whole launch: prepares all blocks, calls what submits the work, records the uses, and reaps pending
     * blocks. If the callback throws, the work may or may not have been submitted: the next use of the blocks waits for
     * all work submitted to the stream. The reap fails for other blocks only, which is logged.
     *
     * @param work submits work to the stream that it is given, such as a kernel; it must not wait for that work
     * @throws TrackedBlockException as {@link #prepare}; nothing is submitted
     * @throws DeviceException as {@link #prepare} and {@link #commit}
     * @throws IllegalStateException as {@link #prepare} and {@link #commit}
     */
    public void run(Consumer<? super SyncStream> work) {
        prepare();
        try (this) {
            work.accept(stream);
            commit();
        }
        memory.reapOthers();
    }

    /**
     * Prepares all blocks, or none. Call it before the work is submitted.
     *
     * @throws TrackedBlockException if a block is freed, or a use of it on another stream is open
     * @throws IllegalArgumentException if the stream is one of another device
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if the launch is already prepared
     */
    public void prepare() {
        require(!isPrepared && !isOver, "a launch can be prepared only once");
        int prepared = 0;
        try {
            for (Use use : uses) {
                memory.prepare(use.block, use.access, stream);
                prepared++;
            }
            isPrepared = true;
        } finally {
            for (int i = 0; !isPrepared && i < prepared; i++) {
                uses.get(i).block.cancel(uses.get(i).access, stream);
            }
        }
    }

    /**
     * Records the use of all blocks with one event. Call it after the work is submitted.
     *
     * @throws DeviceException if the driver fails; the next use of the blocks then waits for all work submitted to the
     *     stream
     * @throws IllegalStateException if the launch is not prepared, or over; also if the stream is closed, in which case
     *     the uses are finished, and complete once the stream has ended
     */
    public void commit() {
        require(isPrepared && !isOver, "a launch can be committed only once, after it was prepared");
        isOver = true;
        if (uses.isEmpty()) {
            return;
        }
        int finished = 0;
        SharedEvent event = null;
        try {
            event = memory.record(stream, uses.size());
            for (Use use : uses) {
                use.block.finish(use.access, stream, event);
                finished++;
            }
        } finally {
            for (int i = finished; i < uses.size(); i++) {
                abandon(uses.get(i), event);
            }
        }
    }

    private void abandon(Use use, @Nullable SharedEvent event) {
        try {
            TrackedMemory.abandon(use.block, use.access, stream, event);
        } catch (TrackedBlockException e) {
            // The callback has finished this use itself. The uses of other blocks end too.
        }
    }

    /**
     * Undoes the preparation: the work was not submitted.
     *
     * @throws IllegalStateException if the launch is over
     */
    public void cancel() {
        require(!isOver, "a launch that is over cannot be cancelled");
        isOver = true;
        for (int i = 0; isPrepared && i < uses.size(); i++) {
            uses.get(i).block.cancel(uses.get(i).access, stream);
        }
    }

    /** Ends the launch. A launch that is not prepared, or over, needs nothing. */
    @Override
    public void close() {
        if (isPrepared && !isOver) {
            isOver = true;
            for (int i = 0; i < uses.size(); i++) {
                abandon(uses.get(i), null);
            }
        }
        isOver = true;
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalStateException(message);
        }
    }
}
