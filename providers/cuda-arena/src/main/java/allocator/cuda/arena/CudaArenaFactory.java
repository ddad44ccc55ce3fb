package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.PlacementPolicy;
import allocator.arena.bump.ArenaKind;
import allocator.arena.bump.BumpOptions;
import allocator.arena.plan.ArenaPlans;
import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.memory.DriverPool;
import allocator.cuda.memory.PeerAccess;
import allocator.cuda.memory.PoolSettings;
import allocator.cuda.memory.check.StreamChecks;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The provider {@code cuda-arena}: for each GPU an arena of device memory and one of pinned memory, which all users
 * share unless one asks for an arena of his own. Read-only memory comes block by block.
 *
 * <p>With {@code arena.use_cuda_mempool=1} device memory comes from a pool of the driver instead, or else with
 * {@code arena.kind=bump} from a bump arena; the three of one device can be in use at once. A device without pools is
 * served by the arena, and the effective settings say so.
 */
public final class CudaArenaFactory extends CudaEpFactory {
    /** {@code arena.use_cuda_mempool}. */
    static final OptionKey<Boolean> USE_CUDA_MEMPOOL = OptionKey.flag(
            "arena.use_cuda_mempool", false, "1: device memory from a pool of the driver, instead of the arena");

    /** {@code arena.paged_reserves}. */
    static final OptionKey<Boolean> PAGED_RESERVES = OptionKey.flag(
            "arena.paged_reserves",
            false,
            "1: reserves of 2 MiB and more have pages of their own, so that their memory can go back to the device "
                    + "while their addresses stay, as for sessions that sleep; each takes whole pages");

    /** As ONNX Runtime's CUDA plug-in, and unlike its core, a shrink keeps no region by default. */
    private static final OptionKey<Boolean> KEEP_FIRST_REGION = ArenaOptions.keepFirstRegion(false);

    private static final List<OptionKey<?>> PINNED_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE, StreamChecks.KEY, KEEP_FIRST_REGION),
                    ArenaOptions.KEYS.stream().filter(key -> !key.equals(ArenaOptions.KEEP_FIRST_REGION)))
            .toList();

    private static final List<OptionKey<?>> ARENA_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(USE_CUDA_MEMPOOL, PeerAccess.KEY, BumpOptions.KIND, PAGED_RESERVES), PINNED_KEYS.stream())
            .toList();

    private static final List<OptionKey<?>> BUMP_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE, StreamChecks.KEY, USE_CUDA_MEMPOOL, PeerAccess.KEY),
                    BumpOptions.APPLICABLE.stream())
            .toList();

    private static final List<OptionKey<?>> POOL_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE, StreamChecks.KEY, USE_CUDA_MEMPOOL), PoolSettings.KEYS.stream())
            .toList();

    private static final List<OptionKey<?>> OPTION_KEYS = Stream.<OptionKey<?>>concat(
                    ARENA_KEYS.stream(),
                    Stream.of(
                            BumpOptions.BUMP_MAX_MEM,
                            PoolSettings.RELEASE_THRESHOLD,
                            PoolSettings.BYTES_TO_KEEP_ON_SHRINK))
            .toList();

    /** What users of one device share. */
    private enum Shared {
        ARENA,
        BUMP_ARENA,
        POOL,
        PINNED_ARENA
    }

    /** Makes the factory; called by the service loader. */
    public CudaArenaFactory() {
        this(CudaDrivers::probe);
    }

    CudaArenaFactory(Supplier<CudaAvailability> probe) {
        super(probe);
    }

    @Override
    public String name() {
        return "cuda-arena";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return OPTION_KEYS;
    }

    @Override
    protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
        final ArenaConfig config = ArenaConfig.from(options).withKeepFirstRegion(options.get(KEEP_FIRST_REGION));
        final ArenaPlans plans = ArenaPlans.from(options); // reads files
        if (info.equals(device.readOnlyMemory())) {
            return new Choice(null, () -> new DeviceMemory(device, info));
        }
        if (info.equals(device.pinnedMemory())) {
            return sharedUnlessExclusive(options, Shared.PINNED_ARENA, () -> pinnedArena(device, config, options));
        }
        if (options.get(USE_CUDA_MEMPOOL) && device.info().hasMemoryPools()) {
            return sharedUnlessExclusive(
                    options,
                    Shared.POOL,
                    () -> DriverPool.create(device, PoolSettings.from(options), options.resolve(POOL_KEYS)));
        }
        if (options.get(BumpOptions.KIND) == ArenaKind.BUMP) {
            return sharedUnlessExclusive(
                    options,
                    Shared.BUMP_ARENA,
                    () -> new DeviceBumpArena(device, options, inForce(options, BUMP_KEYS)));
        }
        return sharedUnlessExclusive(options, Shared.ARENA, () -> arena(device, config, plans, options));
    }

    /**
     * Creates an arena of pinned memory, which cannot be mapped by page: on it arena.policy=compact has no effect. Nor
     * have plans, which are of the device's memory.
     */
    private static PinnedArena pinnedArena(CudaDevice device, ArenaConfig config, AllocatorOptions options) {
        final AllocatorOptions served = ArenaOptions.withoutPages(options);
        final List<OptionKey<?>> keys = ArenaOptions.applicable(PINNED_KEYS, served).stream()
                .filter(key -> served.equals(options) || !key.equals(ArenaOptions.POLICY))
                .filter(key -> !key.equals(ArenaOptions.PLAN))
                .<OptionKey<?>>map(key -> key)
                .toList();
        return new PinnedArena(
                device, config.withPlacementPolicy(served.get(ArenaOptions.POLICY)), served.resolve(keys));
    }

    /** Creates an arena, without pages if the limit has no room for one. */
    private static CudaAllocator arena(
            CudaDevice device, ArenaConfig config, ArenaPlans plans, AllocatorOptions options) {
        final long maxMem = options.get(ArenaOptions.MAX_MEM);
        final boolean hasPages = options.get(ArenaOptions.POLICY) == PlacementPolicy.COMPACT;
        final AllocatorOptions served = hasPages && maxMem > 0 && maxMem < DevicePages.granularity(device)
                ? ArenaOptions.withoutPages(options)
                : options;
        final AllocatorOptions effective = withPagedReserves(
                device, inForce(served, ArenaOptions.applicable(ARENA_KEYS, served, !plans.isEmpty())));
        final DeviceArena arena = new DeviceArena(
                device,
                config.withPlacementPolicy(served.get(ArenaOptions.POLICY)),
                effective.get(PAGED_RESERVES),
                PeerAccess.ordinals(served),
                effective);
        return PlannedArena.over(device, arena, plans);
    }

    private static AllocatorOptions withPagedReserves(CudaDevice device, AllocatorOptions resolved) {
        return resolved.get(PAGED_RESERVES) && !device.info().hasVirtualMemory()
                ? resolved.served(PAGED_RESERVES, false, "is not possible: the device has no virtual memory")
                : resolved;
    }

    /** The settings of an arena, also where it stands in for a pool that cannot be had. */
    private static AllocatorOptions inForce(AllocatorOptions options, List<OptionKey<?>> keys) {
        final AllocatorOptions resolved = options.resolve(keys);
        return resolved.get(USE_CUDA_MEMPOOL)
                ? resolved.served(USE_CUDA_MEMPOOL, false, "is not possible: the device has no memory pools")
                : resolved;
    }
}
