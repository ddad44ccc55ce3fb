package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.FaultyFactory.Fault;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeMemory;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random programs of environments, sessions, runs, allocations and closes, in which each call of the provider fails in
 * turn, once or for good. Afterwards everything is closed without faults, and nothing of the provider may be out.
 */
class FaultsInTurnTest {
    private static final MemoryLocation GPU = FaultyFactory.DEVICE.location();
    private static final int PROGRAMS = Share.of(3);
    private static final int OPERATIONS = 25;

    /** What a call throws. */
    @SuppressWarnings("ImmutableEnumChecker") // the suppliers hold nothing
    enum Thrown {
        OUT_OF_MEMORY(() -> new OutOfMemoryException("full", Shortage.ofDevice(FaultyFactory.DEVICE, 10, 5))),
        DEVICE(() -> new DeviceException("device", null)),
        CLOSED(() -> new AllocatorClosedException("closed")),
        RUNTIME(() -> new IllegalStateException("odd")),
        CHECKED(() -> new Exception("checked")),
        ERROR(() -> new AssertionError("error")),
        HEAP(() -> new OutOfMemoryError("injected")),
        STACK(() -> new StackOverflowError("injected"));

        private final Supplier<Throwable> make;

        Thrown(Supplier<Throwable> make) {
            this.make = make;
        }
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsLostWhicheverCallFails(Thrown thrown) {
        int faults = 0;
        final int first = List.of(Thrown.values()).indexOf(thrown);
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final int calls = new Program(seed).run(Fault.NONE);
            assertThat(calls).as("calls of program " + seed).isGreaterThan(30);
            for (int n = 1 + first % Share.step(); n <= calls; n += Share.step()) {
                for (final boolean isForGood : List.of(false, true)) {
                    for (final boolean isAfter : List.of(false, true)) {
                        new Program(seed).run(new Fault(thrown.make, n, isForGood, isAfter));
                        faults++;
                    }
                }
            }
        }
        assertThat(faults).isGreaterThan(100 * PROGRAMS / Share.step());
    }

    private record Block(ManagedAllocator allocator, long address) {}

    private static final class Program {
        private final int seed;
        private final Random random;
        private final FaultyFactory faulty = new FaultyFactory();
        private final FakeFactory healthy = FakeFactory.cpu("Healthy");
        private final Environment environment = Environments.empty();
        private final Session bystander;
        private final List<Session> sessions = new ArrayList<>();
        private final List<Block> blocks = new ArrayList<>();
        private FakeAllocator own;
        private boolean isRegistered;

        Program(int seed) {
            this.seed = seed;
            random = new Random(seed);
            environment.register(healthy);
            bystander = environment.openSession(
                    SessionOptions.builder().provider("Healthy").build());
        }

        /** Returns the number of calls of the provider. */
        int run(Fault fault) {
            final String what = "program " + seed + ", " + fault;
            faulty.fault(fault);
            for (int i = 0; i < OPERATIONS; i++) {
                final int operation = i < 2 ? i : random.nextInt(16);
                try {
                    execute(operation);
                } catch (Throwable e) {
                    // The provider's, or rejected for what an earlier fault has prevented.
                }
                final long block = bystander.allocator().alloc(10);
                bystander.allocator().free(block);
                assertThat(bystander.liveBlocks()).as(what).isZero();
            }
            final int calls = faulty.calls();
            faulty.fault(Fault.NONE);
            close(what, !fault.isAfter());
            return calls;
        }

        private void close(String what, boolean isExact) {
            for (final Session session : sessions) {
                for (final ManagedAllocator allocator : session.allocators()) {
                    final long expected = blocks.stream()
                            .filter(block -> block.allocator() == allocator)
                            .count();
                    assertThat(allocator.liveBlocks()).as(what).isEqualTo(expected);
                    if (!session.isClosed()) {
                        allocator.free(allocator.alloc(1));
                    }
                }
            }
            blocks.forEach(block -> block.allocator().free(block.address()));
            sessions.forEach(Session::close);
            bystander.close();
            environment.close();
            if (!isRegistered) {
                faulty.close();
            }
            assertThat(faulty.out()).as(what).isEmpty();
            assertThat(environment.providers()).as(what).isEmpty();
            if (isExact) {
                assertThat(faulty.rejectedReleases()).as(what).isZero();
            }
            assertThat(healthy.references()).as(what).isZero();
            assertThat(healthy.isClosed()).as(what).isTrue();
        }

        private void execute(int operation) throws Exception {
            switch (operation) {
                case 0 -> {
                    environment.register(faulty);
                    isRegistered = true;
                }
                case 1, 2, 3 -> open();
                case 4, 5, 6 -> allocate();
                case 7, 8 -> free();
                case 9, 10 -> runSession();
                case 11 -> sessions.get(random.nextInt(sessions.size())).close();
                case 12 ->
                    environment.createSharedAllocator(
                            environment.devices().getFirst(),
                            FaultyFactory.DEVICE,
                            AllocatorOptions.of(Map.of("arena.max_mem", "4096")));
                case 13 -> environment.releaseSharedAllocator(GPU);
                case 14 -> {
                    if (own == null) {
                        own = new FakeAllocator(FakeMemory.memory("Own", DeviceType.GPU, 0, MemoryType.DEFAULT));
                        environment.registerAllocator(own);
                    } else {
                        environment.unregisterAllocator(GPU);
                        own = null;
                    }
                }
                default -> {
                    environment.shrink(GPU);
                    sessions.getLast().shrink(GPU);
                }
            }
        }

        private void open() {
            final SessionOptions.Builder options = SessionOptions.builder()
                    .provider("Faulty")
                    .option("session.use_env_allocators", Integer.toString(random.nextInt(2)));
            if (random.nextBoolean()) {
                options.option("ep.faulty.arena.max_mem", "8192");
            }
            if (random.nextBoolean()) {
                options.decorator(faulty::decorated);
            }
            sessions.add(environment.openSession(options.build()));
        }

        private ManagedAllocator anAllocator() {
            final Session session = sessions.get(random.nextInt(sessions.size()));
            return random.nextBoolean()
                    ? session.allocator()
                    : session.allocators().getLast();
        }

        private void allocate() {
            final ManagedAllocator allocator = anAllocator();
            final long address = random.nextBoolean() ? allocator.alloc(100) : allocator.reserve(50);
            blocks.add(new Block(allocator, address));
        }

        private void free() {
            final int index = random.nextInt(blocks.size());
            final Block block = blocks.get(index);
            try {
                block.allocator().free(block.address());
                blocks.remove(index);
            } catch (DeviceException e) {
                blocks.remove(index);
                throw e;
            }
        }

        private void runSession() throws Exception {
            final Session session = sessions.get(random.nextInt(sessions.size()));
            final boolean isClosedInside = random.nextInt(4) == 0;
            session.run(
                    random.nextBoolean() ? RunOptions.builder().shrink("gpu:0").build() : RunOptions.DEFAULT, run -> {
                        final ManagedAllocator allocator = run.allocator();
                        final long address = allocator.allocOnStream(10, run.stream(random.nextInt(3)));
                        blocks.add(new Block(allocator, address));
                        run.stream(0);
                        if (isClosedInside) {
                            session.close();
                        }
                    });
        }
    }
}
