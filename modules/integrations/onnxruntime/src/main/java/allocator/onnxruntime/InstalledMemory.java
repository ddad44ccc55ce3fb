package allocator.onnxruntime;

import allocator.onnxruntime.block.SessionBudget;
import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiPredicate;
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
    /** Ends the reason for which an arena holds memory in use. */
    private static final String LIVE = "with live blocks";

    private final TargetAllocator target;
    private final SessionBudget budget;
    private final StreamViews views;
    private final SharedWeights weights;
    private final HostCopies hostCopies = new HostCopies();
    private final Object wakes = new Object();

    /** Makes room of some bytes in the memory, and returns whether it did; {@code null} if sessions cannot sleep. */
    private volatile @Nullable BiPredicate<InstalledMemory, Long> relief;

    /** Records where tensors are allocated; {@code null} before the installation is complete. */
    private volatile @Nullable HeldBlocks held;

    /** Whether no tensor can be made any more. Guarded by {@code exports}. */
    private boolean isEnded;

    /** Of failures; {@code null} for none. */
    private volatile @Nullable FailureSnapshots snapshots;

    /** Exports the allocator for tensors of the program; {@code null} before the first. Guarded by {@code exports}. */
    private @Nullable ExportedAllocator tensors;

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
     * shared stays so then. A failure with other processes alone leaves weights of this one shared.
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
     * @return what was returned and what is still held, and what of it captured graphs use; nothing is returned if the
     *     allocator cannot be shrunk
     */
    public ShrinkReport shrink() {
        final ShrinkReport report = ExportedAllocator.shrink(allocator());
        final long captured =
                exports().stream().mapToLong(ExportedAllocator::bytesCaptured).sum();
        if (captured == 0) {
            return report;
        }
        final String graphs = ", of which captured graphs use " + MemoryDump.size(captured);
        return new ShrinkReport(
                report.bytesReleased(),
                report.regionsReleased(),
                report.bytesHeld(),
                report.regionsInUse(),
                report.regionsKept(),
                report.held().stream()
                        .map(part -> part.reason().endsWith(LIVE)
                                ? new ShrinkReport.Held(part.bytes(), part.regions(), part.reason() + graphs)
                                : part)
                        .toList());
    }

    /** Returns what takes the pages of weights away and gives them back; empty if sessions cannot sleep. */
    Optional<RemappableReserves> pages() {
        return allocator().as(RemappableReserves.class);
    }

    void setRelief(BiPredicate<InstalledMemory, Long> sleep) {
        relief = sleep;
    }

    /**
     * Takes memory: again and again after a failure for lack of it, as long as more can be returned to the device; not
     * if the request is larger than the limit.
     *
     * @param byteSize the bytes that are wanted, with those of calls that follow
     */
    long withRoom(long byteSize, LongSupplier take) {
        while (true) {
            try {
                return take.getAsLong();
            } catch (OutOfMemoryException e) {
                final BiPredicate<InstalledMemory, Long> sleep = relief;
                final long limit = e.shortage().limit();
                final boolean isHopeless = limit >= 0 && e.shortage().requested() > limit;
                if (isHopeless || sleep == null || !sleep.test(this, byteSize)) {
                    throw e;
                }
            }
        }
    }

    /**
     * Allocates a tensor of the program. It counts against the budget of all sessions together, and belongs to
     * {@code tensors} in snapshots.
     *
     * @param type the type of the elements
     * @param shape the dimensions, none for a scalar; {@code 0} makes an empty tensor
     * @return the tensor, whose bytes are not initialized, to be closed by the caller before the installation
     * @throws allocator.spi.OutOfMemoryException if the budget, the allocator's limit or the device has no room
     * @throws IllegalArgumentException if a dimension is negative, or the size overflows
     * @throws IllegalStateException if the installation is closed
     */
    public DeviceTensor tensor(ElementType type, long... shape) {
        final long byteSize = byteSize(type, shape);
        final ExportedAllocator export = tensors();
        final long address = export.allocTensor(byteSize);
        try {
            return DeviceTensor.of(new TensorBlock(this, address, () -> export.free(address)), 0, type, shape.clone());
        } catch (Throwable e) {
            export.free(address);
            throw e;
        }
    }

    /**
     * Makes a tensor of memory that the caller owns, such as another library's. The memory must be of this device, or
     * of the host if this is memory of the host, aligned as the elements are, and stay valid until the tensor and its
     * views are closed.
     *
     * @param address the address of the first element
     * @param type the type of the elements
     * @param shape the dimensions
     * @return the tensor, to be closed by the caller; its close frees nothing
     * @throws IllegalArgumentException as {@link #tensor}, or if the address is 0
     * @throws IllegalStateException as {@link #tensor}
     */
    public DeviceTensor tensorAt(long address, ElementType type, long... shape) {
        if (address == 0) {
            throw new IllegalArgumentException("a tensor at the address 0");
        }
        final long ignored = byteSize(type, shape);
        requireOpen();
        return DeviceTensor.of(new TensorBlock(this, address, () -> {}), 0, type, shape.clone());
    }

    private static long byteSize(ElementType type, long... shape) {
        try {
            return type.byteSize(DeviceTensor.elements(shape));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("the size of " + type + Arrays.toString(shape) + " overflows", e);
        }
    }

    /** Lets tensors be made again, after the close of the installation was rejected. */
    void reopenTensors() {
        synchronized (exports) {
            isEnded = false;
        }
    }

    private void requireOpen() {
        synchronized (exports) {
            if (isEnded) {
                throw new IllegalStateException("the allocators are uninstalled");
            }
        }
    }

    private ExportedAllocator tensors() {
        synchronized (exports) {
            requireOpen();
            ExportedAllocator export = tensors;
            if (export == null || export.isClosed()) {
                export = add(new ExportedAllocator(
                        allocator(),
                        target.memory(),
                        null,
                        new SessionBudget(budget, AllocatorStats.UNLIMITED),
                        held == null ? null : held.sites(),
                        null,
                        new FailureLog(OnnxRuntimeAllocators.TENSORS, "of the program", snapshots)));
                tensors = export;
            }
            return export;
        }
    }

    /**
     * Ends the allocation of tensors.
     *
     * @throws IllegalStateException if some are open
     */
    void closeTensors() {
        synchronized (exports) {
            final ExportedAllocator export = tensors;
            if (export != null) {
                if (export.liveBlocks() > 0) {
                    throw new IllegalStateException("tensors of the program are open: " + export.liveBlocks() + " with "
                            + export.stats().bytesInUse() + " bytes of " + info()
                            + "; close them and their views (memory.leaks=full reports where they were made)");
                }
                export.close();
            }
            isEnded = true;
        }
    }

    /**
     * Creates a stream of the device. A session runs on it if the options of ONNX Runtime's CUDA provider set
     * {@code has_user_compute_stream} to {@code 1}, and {@code user_compute_stream} to the stream's
     * {@linkplain SyncStream#handle handle}.
     *
     * @return the stream, to be closed by the caller after those sessions
     * @throws UnsupportedOperationException if the memory has no streams, as that of the CPU
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws IllegalStateException if the installation is closed
     */
    public SyncStream createStream() {
        requireOpen();
        return views.adopt(target.createStream());
    }

    /**
     * Sets what records tensors of the program.
     *
     * @param recorder records where they are allocated
     * @param failures writes snapshots of failures; {@code null} for none
     */
    void setRecorders(HeldBlocks recorder, @Nullable FailureSnapshots failures) {
        held = recorder;
        snapshots = failures;
    }

    /** Returns whether the program can read and write the memory without a copy by the device. */
    boolean isOfHost() {
        return info().deviceType() == DeviceType.CPU || info().memoryType() == MemoryType.HOST_ACCESSIBLE;
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

    /** Returns what a session holds while its weights wake. */
    Object wakes() {
        return wakes;
    }

    /** Returns the copies of weights that sleep. */
    HostCopies hostCopies() {
        return hostCopies;
    }

    SessionBudget budget() {
        return budget;
    }

    @Override
    public String toString() {
        final long shared = bytesShared();
        return info() + ": " + bytesInUse() + " bytes in use by all sessions and tensors"
                + (shared == 0 ? "" : ", of which shared weights save " + shared);
    }
}
