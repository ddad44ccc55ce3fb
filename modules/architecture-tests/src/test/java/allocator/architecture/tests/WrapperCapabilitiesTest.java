package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedAllocator;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.plan.PlanFile;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.runtime.Environment;
import allocator.runtime.inspection.CallSites;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeMemory;
import allocator.testkit.FakeStream;
import allocator.trace.Recorder;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each wrapper of an allocator, with each capability that {@link Allocator#as} may serve: what a caller gets is the
 * wrapper itself, so that no call goes round a budget, a record or a check.
 */
class WrapperCapabilitiesTest {
    private static final long SIZE = 256;
    private static final MemoryInfo MEMORY = FakeMemory.memory("Fake", DeviceType.CPU, 0, MemoryType.DEFAULT);

    /** All that an allocator may be asked for. The last one stands for those that a wrapper has never heard of. */
    private static final List<Class<?>> CAPABILITIES = List.of(
            StreamAwareAllocator.class,
            ShrinkableAllocator.class,
            HostAccessibleAllocator.class,
            InspectableAllocator.class,
            UnreturnedMemory.class,
            Unheard.class);

    @TempDir
    private static Path folder;

    /** A capability of some vendor. */
    private interface Unheard {}

    /** Has every capability. */
    private static final class Able extends FakeAllocator.Full
            implements HostAccessibleAllocator, InspectableAllocator, PagedReserves, UnreturnedMemory, Unheard {
        Able() {
            super(MEMORY);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            return MemorySegment.ofArray(new byte[(int) byteSize]);
        }

        @Override
        public AllocatorSnapshot inspect() {
            return AllocatorSnapshot.EMPTY;
        }

        @Override
        public long unreturnedBytes() {
            return 0;
        }

        @Override
        public long returnAgain() {
            return 0;
        }

        @Override
        public long share(long address) {
            return 0;
        }

        @Override
        public long sharedBytes() {
            return 0;
        }
    }

    /**
     * A wrapper, and how many blocks it counts.
     *
     * @param blocks live blocks that have passed through the wrapper, or negative if it does not count
     */
    private record Wrapped(Allocator allocator, LongSupplier blocks) {
        static Wrapped stack(MemoryResource resource, LongSupplier blocks) {
            return new Wrapped(ResourceAllocator.of(resource), blocks);
        }
    }

    /** The wrappers of allocators. */
    @SuppressWarnings("ImmutableEnumChecker") // a maker has no state
    enum Wrapper {
        RECORDED(target -> {
            final Recorder recorder =
                    new Recorder(Files.createTempDirectory(folder, "r").resolve("trace.csv"));
            return new Wrapped(recorder.wrap(target), () -> -1);
        }),
        CALL_SITES(target -> {
            final Allocator sites = new CallSites(target, 1);
            return new Wrapped(sites, () -> {
                final Map<Long, allocator.runtime.snapshot.Snapshot.Site> live = new HashMap<>();
                CallSites.addTo(sites, "test", live);
                return live.size();
            });
        }),
        MANAGED(target -> {
            final var managed =
                    Environment.builder().modulePathProviders(false).build().registerAllocator(target);
            return new Wrapped(managed, managed::liveBlocks);
        }),
        PLANNED(target -> {
            final Path plan = Files.writeString(
                    Files.createTempDirectory(folder, "p").resolve("plan.csv"),
                    "id,lower,upper,size,offset\n0,0,1," + SIZE + ",0\n");
            final ArenaPlans plans = ArenaPlans.of(List.of("plan"), List.of(PlanFile.read(plan)));
            return new Wrapped(new PlannedAllocator(target, plans), () -> -1);
        }),
        ADAPTED(target -> Wrapped.stack(new AllocatorResource(target), () -> -1)),
        COUNTED(target -> {
            final StatisticsResource counted = new StatisticsResource(new AllocatorResource(target));
            return Wrapped.stack(counted, () -> counted.statistics().blocks());
        }),
        TRACKED(target -> {
            final LeakTrackingResource tracked = LeakTrackingResource.full(new AllocatorResource(target));
            return Wrapped.stack(tracked, () -> tracked.report().blocks());
        }),
        BUDGET(target -> {
            final Budget budget = Budget.of("test", Budget.UNLIMITED);
            final MemoryResource charged = new BudgetResource(new AllocatorResource(target), budget);
            return Wrapped.stack(charged, () -> budget.status().charge() / SIZE);
        }),
        BUDGET_OF_REQUESTS(target -> Wrapped.stack(new RequestBudgetResource(new AllocatorResource(target)), () -> -1));

        private final Maker maker;

        Wrapper(Maker maker) {
            this.maker = maker;
        }
    }

    private interface Maker {
        Wrapped wrap(Able target) throws IOException;
    }

    /** Returns the capabilities of a wrapper that allocate. */
    private static List<Allocator> served(Allocator wrapper) {
        final List<Allocator> served = new ArrayList<>();
        served.add(wrapper);
        for (final Class<?> capability : CAPABILITIES) {
            if (wrapper.as(capability).orElse(null) instanceof Allocator allocator) {
                served.add(allocator);
            }
        }
        return served;
    }

    @ParameterizedTest
    @EnumSource
    void eachCapabilityIsTheWrapperItself(Wrapper wrapper) throws IOException {
        final Allocator wrapped = wrapper.maker.wrap(new Able()).allocator();
        for (final Class<?> capability : CAPABILITIES) {
            assertThat(wrapped.as(capability).map(Object.class::cast).orElse(wrapped))
                    .describedAs(capability.getSimpleName())
                    .isSameAs(wrapped);
        }
        assertThat(wrapped.as(Unheard.class)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void aBlockOfEachCapabilityIsCountedByTheWrapper(Wrapper wrapper) throws IOException {
        final Wrapped made = wrapper.maker.wrap(new Able());
        final SyncStream stream = new FakeStream(MEMORY);
        for (final Allocator capability : served(made.allocator())) {
            final List<Function<Allocator, Long>> calls =
                    new ArrayList<>(List.of(through -> through.alloc(SIZE), through -> through.reserve(SIZE)));
            if (capability instanceof StreamAwareAllocator aware
                    && made.allocator().as(StreamAwareAllocator.class).isPresent()) {
                calls.add(ignored -> aware.allocOnStream(SIZE, stream));
            }
            for (final Function<Allocator, Long> call : calls) {
                final long before = made.blocks().getAsLong();
                final long address = call.apply(capability);
                assertThat(made.blocks().getAsLong()).isEqualTo(before < 0 ? before : before + 1);
                capability.free(address);
                assertThat(made.blocks().getAsLong()).isEqualTo(before);
            }
        }
    }

    /** Those of resources do not: their blocks may begin elsewhere than those of the allocator beneath. */
    @ParameterizedTest
    @EnumSource(names = {"RECORDED", "CALL_SITES", "MANAGED", "PLANNED"})
    void thePagesOfReservesAreThoseOfTheWrappedAllocator(Wrapper wrapper) throws IOException {
        final Able target = new Able();
        assertThat(wrapper.maker.wrap(target).allocator().as(PagedReserves.class))
                .containsSame(target);
    }

    @Test
    void aRecorderHasTheBlocksOfEachCapability() throws IOException {
        final Path file = folder.resolve("trace.csv");
        try (Recorder recorder = new Recorder(file)) {
            final List<Allocator> served = served(recorder.wrap(new Able()));
            assertThat(served).hasSize(5);
            served.forEach(capability -> capability.free(capability.alloc(SIZE)));
        }
        assertThat(Files.readAllLines(file).stream().filter(line -> line.startsWith("a,")))
                .hasSize(5);
    }

    @Test
    void eachCapabilityOfACheckedAllocatorIsTheChecksOwn() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            for (final String name : List.of("cuda-arena", "cuda-mempool")) {
                final EpFactory provider = driver.provider(name);
                provider.discoverDevices().devices().getFirst().memoryInfos().forEach(info -> {
                    final Allocator checked =
                            provider.createAllocator(info, AllocatorOptions.of(Map.of("arena.check_streams", "1")));
                    assertThat(checked)
                            .hasToString("%s, checked", checked.toString().replace(", checked", ""));
                    assertThat(served(checked))
                            .allSatisfy(served -> assertThat(served).isSameAs(checked));
                    provider.releaseAllocator(checked);
                });
                provider.close();
            }
        }
    }
}
