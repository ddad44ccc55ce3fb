package allocator.onnxruntime;

import allocator.onnxruntime.block.SessionBudget;
import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One memory of an installation: the allocator that its sessions share, and their common budget. Safe for use by any
 * thread.
 */
public final class InstalledMemory {
    private final TargetAllocator target;
    private final SessionBudget budget;
    private final StreamViews views;
    private final SharedWeights weights;

    /** Puts a session to sleep that uses the memory, and returns whether one was; {@code null} if none can. */
    private volatile @Nullable Predicate<InstalledMemory> relief;

    /** Those of the sessions and of the environment that are not closed. Guarded by itself. */
    private final List<ExportedAllocator> exports = new ArrayList<>();

    /**
     * @param target the allocator
     * @param budgetBytes the budget of all sessions together
     * @param views the views of the device's streams
     * @param sharesWeights whether equal weights of sessions are to have one copy
     */
    InstalledMemory(TargetAllocator target, long budgetBytes, StreamViews views, boolean sharesWeights) {
        this.target = target;
        this.views = views;
        budget = new SessionBudget(null, budgetBytes);
        weights = new SharedWeights(target.allocator(), sharesWeights);
    }

    /** {@return the memory's info} */
    public MemoryInfo info() {
        return allocator().info();
    }

    /** {@return the allocator beneath all sessions: the one that was given, or that the provider created} */
    public Allocator allocator() {
        return target.allocator();
    }

    /** {@return the allocator's statistics, for all sessions together; {@link AllocatorStats#NONE} if it has none} */
    public AllocatorStats stats() {
        return ExportedAllocator.stats(allocator());
    }

    /** {@return what all sessions together have in use of this memory, in requested bytes} */
    public long bytesInUse() {
        return budget.used();
    }

    /**
     * {@return what weights with one copy save, in bytes: {@link #bytesInUse} counts them for each session,
     * {@link #stats} once} {@code 0} without {@link OnnxRuntimeAllocators#SHARE_WEIGHTS}.
     */
    public long bytesShared() {
        return weights.savedBytes();
    }

    /**
     * {@return why equal weights of the next session will not have one copy with those of others, for a person to read;
     * empty if they will} That is not asked for, the allocator or the platform cannot do it, or it has failed: what is
     * shared stays so then.
     */
    public Optional<String> sharingObstacle() {
        return weights.obstacle();
    }

    /**
     * Sets the most that all sessions together may have in use of this memory from now on, in requested bytes. Live
     * blocks stay valid.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        budget.setLimit(bytes);
    }

    /**
     * Returns unused memory to the system or the device. May be called at any time, also while sessions run.
     *
     * @return what was returned and what is still held; nothing is returned if the allocator cannot be shrunk
     */
    public ShrinkReport shrink() {
        return ExportedAllocator.shrink(allocator());
    }

    /** Returns what takes the pages of weights away and gives them back; empty if sessions cannot sleep. */
    Optional<RemappableReserves> pages() {
        return allocator().as(RemappableReserves.class);
    }

    void setRelief(Predicate<InstalledMemory> sleep) {
        relief = sleep;
    }

    /**
     * Takes memory: again and again after a failure for lack of it, as long as more can be returned to the device; not
     * if the request is larger than the limit.
     */
    long withRoom(LongSupplier take) {
        while (true) {
            try {
                return take.getAsLong();
            } catch (OutOfMemoryException e) {
                final Predicate<InstalledMemory> sleep = relief;
                final long limit = e.shortage().limit();
                final boolean isHopeless = limit >= 0 && e.shortage().requested() > limit;
                if (isHopeless || sleep == null || !sleep.test(this)) {
                    throw e;
                }
            }
        }
    }

    /** Returns the uses of the allocator by some of the exports that are not closed. */
    Stream<AllocatorUse> uses(Predicate<ExportedAllocator> which) {
        return exports().stream().filter(which).map(this::use);
    }

    /** Returns the use of the allocator by the installation, whose blocks are those of all exports. */
    AllocatorUse use(String owner) {
        return use(
                owner,
                () -> exports().stream()
                        .mapToLong(ExportedAllocator::liveBlocks)
                        .sum(),
                () -> false,
                _ -> {});
    }

    private AllocatorUse use(ExportedAllocator export) {
        final String owner = HeldBlocks.owner(export);
        return use(owner, export::liveBlocks, export::isClosed, sites -> export.addSites(owner, sites));
    }

    private AllocatorUse use(
            String owner, LongSupplier liveBlocks, BooleanSupplier isReleased, Consumer<Map<Long, Site>> addSites) {
        return new AllocatorUse(
                target,
                target.providerName(),
                info(),
                new User(owner, liveBlocks.getAsLong()),
                liveBlocks,
                isReleased,
                () -> allocator().as(InspectableAllocator.class).orElse(null)
                                instanceof InspectableAllocator inspectable
                        ? Optional.of(inspectable.inspect())
                        : Optional.empty(),
                this::stats,
                allocator()::effectiveOptions,
                addSites);
    }

    /** Adds an export of the allocator, whose blocks a shrink frees if a free has failed. Returns it. */
    ExportedAllocator add(ExportedAllocator export) {
        synchronized (exports) {
            exports.removeIf(ExportedAllocator::isClosed);
            exports.add(export);
        }
        export.setSiblings(this::exports);
        if (pages().isPresent()) {
            export.setRelief(this);
        }
        return export;
    }

    /** Returns the exports of the allocator, the oldest first. */
    List<ExportedAllocator> exports() {
        synchronized (exports) {
            return List.copyOf(exports);
        }
    }

    TargetAllocator target() {
        return target;
    }

    StreamViews views() {
        return views;
    }

    SharedWeights weights() {
        return weights;
    }

    SessionBudget budget() {
        return budget;
    }

    @Override
    public String toString() {
        final long shared = bytesShared();
        return info() + ": " + bytesInUse() + " bytes in use by all sessions"
                + (shared == 0 ? "" : ", of which shared weights save " + shared);
    }
}
