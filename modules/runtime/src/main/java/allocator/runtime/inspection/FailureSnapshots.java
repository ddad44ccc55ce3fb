package allocator.runtime.inspection;

import allocator.runtime.discovery.Causes;
import allocator.runtime.discovery.Log;
import allocator.runtime.options.RuntimeKeys;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes a snapshot to a directory when a request fails for lack of memory, if the environment's option
 * {@value RuntimeKeys#SNAPSHOT_ON_FAILURE} names one. It is reached only where a request has failed, and whatever
 * happens here the caller sees the failure of the request.
 *
 * <p>One snapshot is written at a time; a request that fails while one is being written gets none. A directory gets no
 * further one when it holds {@value SnapshotDirectory#MOST} of them: the first failures say most. Where writing fails
 * it is tried again as {@link WriteAttempts} says, and no snapshot is taken before; the log has the first failure and
 * the last.
 */
public final class FailureSnapshots {
    private static final String PREFIX = "allocator-snapshot-";
    private static final int MOST_FRAMES = 16;

    /** One for all environments, as they may share a directory. */
    private static final AtomicBoolean IS_WRITING = new AtomicBoolean();

    private final @Nullable SnapshotDirectory directory;
    private final Frames frames;
    private final Function<Failure, Snapshot> taker;
    private final WriteAttempts attempts = new WriteAttempts(System::nanoTime);
    private volatile boolean isFull;

    /**
     * Checks nothing: what is wrong with the directory is logged when the first snapshot is to be written.
     *
     * @param directory where to write; {@code null} for nowhere
     * @param frames finds the frames of the program
     */
    public FailureSnapshots(@Nullable Path directory, Frames frames, Function<Failure, Snapshot> taker) {
        this.frames = frames;
        this.directory = directory == null ? null : new SnapshotDirectory(directory, PREFIX);
        this.taker = taker;
    }

    /**
     * Writes a snapshot if the option is set and there is room for one. Throws nothing.
     *
     * @param name what the memory was to be for; empty if that is not known
     */
    public void exhausted(OutOfMemoryException failure, String owner, String name) {
        final SnapshotDirectory target = directory;
        if (target == null || isFull || !attempts.mayTry() || !IS_WRITING.compareAndSet(false, true)) {
            return;
        }
        try {
            write(target, describe(failure, owner, name));
            attempts.succeeded();
        } catch (Throwable e) {
            final String further = attempts.failed();
            if (!further.isEmpty()) {
                Log.warning(Causes.oneLine(
                        "writing a snapshot into " + target + " failed: " + Causes.describe(e) + further));
            }
        } finally {
            IS_WRITING.set(false);
        }
    }

    private void write(SnapshotDirectory target, Failure failure) throws IOException {
        final Optional<Path> written = target.write(() -> taker.apply(failure));
        isFull = written.isEmpty();
        Log.warning(Causes.oneLine(
                isFull
                        ? target + " holds " + SnapshotDirectory.MOST
                                + " snapshots: no further one is written by this environment"
                        : "no memory for " + failure.owner() + ": snapshot written to " + written.get()));
    }

    private Failure describe(OutOfMemoryException failure, String owner, String name) {
        final Shortage shortage = failure.shortage();
        return new Failure(
                String.valueOf(failure.getMessage()),
                owner,
                Thread.currentThread().getName(),
                shortage.memory(),
                known(shortage.requested()),
                known(shortage.rounded()),
                known(shortage.limit()),
                known(shortage.inUse()),
                known(shortage.held()),
                known(shortage.largestFree()),
                known(shortage.deviceFree()),
                shortage.limitedBy(),
                stack(failure, name));
    }

    private static long known(long figure) {
        return figure == OutOfMemoryException.UNKNOWN ? Failure.UNKNOWN : figure;
    }

    private List<String> stack(Throwable failure, String name) {
        final Stream<String> program = frames.ofProgram(
                        Arrays.stream(failure.getStackTrace()), StackTraceElement::getClassName)
                .limit(MOST_FRAMES)
                .map(Frames::text);
        return Stream.concat(Stream.of(name).filter(known -> !known.isEmpty()), program)
                .toList();
    }
}
