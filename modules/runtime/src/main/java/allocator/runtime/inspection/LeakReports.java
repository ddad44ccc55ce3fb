package allocator.runtime.inspection;

import allocator.runtime.discovery.Causes;
import allocator.runtime.discovery.Log;
import allocator.runtime.options.RuntimeKeys;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.Allocator;
import allocator.spi.AllocatorSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reports the blocks that are live when a session is closed, or when the environment cannot be closed for them, if the
 * environment's option {@code memory.leaks} asks for it: one line of the log, and a snapshot in the directory of
 * {@value RuntimeKeys#LEAKS_REPORT} if that is given.
 *
 * <p>Reports are written one after the other, at most {@value SnapshotDirectory#MOST} to a directory. A report has at
 * most {@value #MOST_CHUNKS} chunks, and as many recorded blocks.
 */
public final class LeakReports {
    /** The most chunks of a report, and the most recorded blocks, of all allocators together. */
    static final int MOST_CHUNKS = 100_000;

    private static final String PREFIX = "allocator-leaks-";
    private static final int MOST_LOGGED = 5;

    /** One for all environments, as they may share a directory. */
    private static final Object WRITING = new Object();

    private final int interval;
    private final @Nullable SnapshotDirectory directory;
    private final WriteAttempts attempts = new WriteAttempts(System::nanoTime);
    private boolean isFull;

    /**
     * Checks nothing: what is wrong with the directory is logged when the first report is written.
     *
     * @param interval 1 to record the call site of every block, more for one in so many, 0 to report nothing
     * @param directory where to write; {@code null} for nowhere
     */
    LeakReports(int interval, @Nullable Path directory) {
        this.interval = interval;
        this.directory = directory == null ? null : new SnapshotDirectory(directory, PREFIX);
    }

    /** {@return how many blocks are recorded in allocators for which nothing else is asked, as constructed} */
    public int interval() {
        return interval;
    }

    /** {@return an allocator of the environment that records its blocks if they are to be reported, or else itself} */
    public Allocator recorded(Allocator target) {
        return interval == 0 ? target : new CallSites(target, interval);
    }

    /**
     * Reports live blocks, if there are any.
     *
     * @param closed what was closed, such as {@code session bert}
     * @param users the uses that have live blocks
     * @param taker takes a snapshot that has the leaks
     */
    public void report(String closed, List<AllocatorUse> users, Function<Leaks, Snapshot> taker) {
        final Leaks leaks = LeakSums.of(closed, users);
        if (leaks.blocks() == 0) {
            return;
        }
        String place = "";
        final SnapshotDirectory target = directory;
        if (target != null) {
            place = place(target, leaks, taker);
        }
        Log.warning(Causes.oneLine(text(leaks) + place));
    }

    /** Writes a report; returns what the log says of it. */
    private String place(SnapshotDirectory target, Leaks leaks, Function<Leaks, Snapshot> taker) {
        synchronized (WRITING) {
            if (isFull || !attempts.mayTry()) {
                return "";
            }
            try {
                final String place = write(target, leaks, taker);
                attempts.succeeded();
                return place;
            } catch (Throwable e) {
                return "; no report in " + target + ": " + Causes.describe(e) + attempts.failed();
            }
        }
    }

    private String write(SnapshotDirectory target, Leaks leaks, Function<Leaks, Snapshot> taker) throws IOException {
        final Optional<Path> written = target.write(() -> bounded(taker.apply(leaks)));
        isFull = written.isEmpty();
        return written.map(file -> "; report written to " + file)
                .orElse("; " + target + " holds " + SnapshotDirectory.MOST
                        + " reports: no further one is written by this environment");
    }

    /** Describes leaks, with the call sites that have most. */
    private static String text(Leaks leaks) {
        final boolean isOfSession = leaks.closed().startsWith("session ");
        final String sites = leaks.sites().stream()
                .limit(MOST_LOGGED)
                .map(site -> text(site, isOfSession))
                .collect(Collectors.joining("; "));
        final long more = leaks.sites().size() + leaks.omittedSites() - MOST_LOGGED;
        return leaks.closed() + ": " + leaks.blocks()
                + (leaks.blocks() == 1 ? " block is live, " : " blocks are live, ")
                + leaks.recorded() + " of them recorded"
                + (sites.isEmpty() ? "" : ": " + sites)
                + (more > 0 ? "; and " + more + " more call sites" : "");
    }

    /** Describes a call site; that of a session's own report need not say whose it is. */
    private static String text(LeakSite site, boolean isOfSession) {
        return site.blocks() + " with " + site.bytes() + " bytes of " + site.memory()
                + (isOfSession ? "" : " for " + site.owner()) + " at " + site.frame();
    }

    private static Snapshot bounded(Snapshot snapshot) {
        final int most = MOST_CHUNKS / Math.max(1, snapshot.allocators().size());
        return new Snapshot(
                snapshot.takenAt(),
                snapshot.scope(),
                snapshot.failure(),
                snapshot.leaks(),
                snapshot.devices(),
                snapshot.sessions(),
                snapshot.allocators().stream()
                        .map(state -> bounded(state, most))
                        .toList(),
                snapshot.history());
    }

    private static AllocatorState bounded(AllocatorState state, int most) {
        final int chunks = state.memoryMap().chunkCount();
        if (chunks <= most && state.sites().size() <= most) {
            return state;
        }
        final Stream<Map.Entry<Long, Snapshot.Site>> sites =
                state.sites().entrySet().stream().limit(most);
        return new AllocatorState(
                state.provider(),
                state.memory(),
                state.options(),
                state.stats(),
                state.users(),
                chunks <= most ? state.memoryMap() : AllocatorSnapshot.EMPTY,
                chunks <= most
                        ? state.missing()
                        : "a report of leaks has at most " + most + " chunks, and this allocator " + chunks,
                sites.collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue)));
    }
}
