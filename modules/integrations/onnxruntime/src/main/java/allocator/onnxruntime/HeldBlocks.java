package allocator.onnxruntime;

import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.inspection.BlockSites;
import allocator.runtime.inspection.Frames;
import allocator.runtime.inspection.LeakReports;
import allocator.runtime.inspection.RecentEvents;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.SessionState;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Records where ONNX Runtime allocates, and reports the blocks that it holds at a close, if
 * {@link OnnxRuntimeAllocators#LEAKS} asks for it. Safe for use by any thread.
 */
final class HeldBlocks {
    /** The owner of the blocks of sessions that were not opened here. */
    private static final String ENVIRONMENT = "environment";

    private static final Set<String> NO_SESSIONS =
            Set.of(OnnxRuntimeAllocators.ENVIRONMENT, OnnxRuntimeAllocators.TENSORS);

    /** Stands for the call of a block that a thread of ONNX Runtime's pools has allocated. */
    private static final String NO_CALLER = "a thread of ONNX Runtime";

    /** The packages between a request of ONNX Runtime and the program: its Java binding, and this module. */
    static final Frames FRAMES = new Frames(
            Set.of(ExportedAllocator.class.getName()),
            Set.of("ai.onnxruntime", "allocator.onnxruntime", "allocator.onnxruntime.support"));

    private static final System.Logger LOG = System.getLogger(ExportedAllocator.class.getName());

    private final LeakReports reports;
    private final int interval;

    /**
     * @param reports the reports that are asked for
     * @param interval 1 to record where each block is allocated, more for one in so many, 0 for none
     */
    HeldBlocks(LeakReports reports, int interval) {
        this.reports = reports;
        this.interval = interval;
    }

    /** Returns the owner of an export's blocks, as snapshots name it. */
    static String owner(ExportedAllocator export) {
        return export.session().equals(OnnxRuntimeAllocators.ENVIRONMENT) ? ENVIRONMENT : export.session();
    }

    /** Returns a record for the blocks of one export; {@code null} if nothing is to be recorded. */
    @Nullable
    BlockSites sites() {
        return interval == 0 ? null : new BlockSites(interval, NO_CALLER, FRAMES);
    }

    /**
     * Reports the blocks of a session that is closed. Throws nothing.
     *
     * @param session the session's name
     * @param memories the memories of the installation
     * @param isOfSession whether an export is one of the session's
     */
    void report(String session, Collection<InstalledMemory> memories, Predicate<ExportedAllocator> isOfSession) {
        if (reports.interval() == 0) {
            return;
        }
        try {
            final List<AllocatorUse> uses = memories.stream()
                    .flatMap(memory -> memory.uses(isOfSession))
                    .toList();
            final long live =
                    uses.stream().mapToLong(use -> use.user().liveBlocks()).sum();
            report("session " + session, session, uses, memories, List.of(new SessionState(session, true, live)));
        } catch (Throwable e) {
            failed(session, e);
        }
    }

    /** Reports all blocks of an installation that cannot be closed. Throws nothing. */
    void reportAll(Collection<InstalledMemory> memories, List<SessionState> sessions) {
        if (reports.interval() == 0) {
            return;
        }
        try {
            report(
                    "installation that cannot be closed",
                    ENVIRONMENT,
                    all(memories).toList(),
                    memories,
                    sessions);
        } catch (Throwable e) {
            failed(ENVIRONMENT, e);
        }
    }

    private void report(
            String closed,
            String scope,
            List<AllocatorUse> uses,
            Collection<InstalledMemory> memories,
            List<SessionState> sessions) {
        reports.report(closed, uses, leaks -> snapshot(scope, null, leaks, memories, sessions));
    }

    /** Describes an installation, after a request has failed if a failure is given. */
    static Snapshot snapshot(@Nullable Failure failure, Collection<InstalledMemory> memories) {
        final Map<FailureLog, Long> liveBlocks = new LinkedHashMap<>();
        memories.stream()
                .flatMap(memory -> memory.exports().stream())
                .forEach(export -> liveBlocks.merge(export.failures(), (long) export.liveBlocks(), Long::sum));
        final List<SessionState> sessions = new ArrayList<>();
        liveBlocks.forEach((log, live) -> {
            if (!NO_SESSIONS.contains(log.session()) && (live > 0 || !log.isClosed())) {
                sessions.addFirst(new SessionState(log.session(), log.isClosed(), live));
            }
        });
        return snapshot(ENVIRONMENT, failure, null, memories, sessions);
    }

    private static Snapshot snapshot(
            String scope,
            @Nullable Failure failure,
            @Nullable Leaks leaks,
            Collection<InstalledMemory> memories,
            List<SessionState> sessions) {
        return new Snapshot(
                Instant.now(),
                scope,
                failure,
                leaks,
                List.of(),
                sessions,
                AllocatorUse.describe(all(memories)),
                RecentEvents.list());
    }

    private static Stream<AllocatorUse> all(Collection<InstalledMemory> memories) {
        return memories.stream().flatMap(memory -> memory.uses(export -> true));
    }

    private static void failed(String closed, Throwable failure) {
        try {
            LOG.log(Level.WARNING, "{0}: the blocks that ONNX Runtime holds cannot be reported: {1}", closed, failure);
        } catch (Throwable e) {
            // The close goes on without a line.
        }
    }
}
