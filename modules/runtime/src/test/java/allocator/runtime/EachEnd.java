package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.ObservedAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.HeapEnds;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * A program that makes each call once for each of its allocations on the Java heap, which fails.
 *
 * <p>A call that fails has changed nothing, or the next call does the rest.
 */
final class EachEnd {
    private EachEnd() {}

    public static void main(String[] args) {
        EachLeaseEnd.run();
        sessions();
        HeapEnds.each("register", () -> new Registered(false, Registered::register));
        HeapEnds.each("unregister", () -> new Registered(true, Registered::unregister));
        HeapEnds.each("open a session", () -> new Registered(true, Registered::openSession).observed());
        HeapEnds.each("run", () -> Registered.withSession(Registered::run));
        HeapEnds.each("open a stream", () -> Registered.withSession(registered -> registered.session.openStream()));
        HeapEnds.each("copy", () -> Registered.withSession(Registered::copy));
        HeapEnds.each(
                "close of a session",
                () -> Registered.withSession(Registered::closeSession).observed());
        HeapEnds.each("create a shared allocator", () -> new Registered(true, Registered::createShared));
        HeapEnds.each("release a shared allocator", () -> new Registered(true, Registered::releaseShared));
        HeapEnds.each("share an allocator", () -> new Registered(true, Registered::share));
        HeapEnds.each("close of the environment", () -> new Registered(true, Registered::close));
    }

    private static void sessions() {
        HeapEnds.each("beans", () -> Registered.with(EnvironmentBuilder.JMX, "1", Registered::openSession));
        HeapEnds.each(
                "allocate",
                () -> Registered.with(EnvironmentBuilder.LEAKS, "full", Registered::allocate)
                        .opened());
        HeapEnds.each("load an initializer", () -> Registered.withSession(Registered::loadInitializer));
        HeapEnds.each(
                "free after the close",
                () -> Registered.withSession(Registered::free).closedWithABlock());
        HeapEnds.each(
                "close in a run",
                () -> Registered.withSession(registered -> registered.session.run(RunOptions.DEFAULT, run -> {
                    run.stream(0);
                    registered.session.close();
                })));
    }

    /** Learns what is in use. */
    private static final class Learning implements AllocatorListener {
        private final Set<ObservedAllocator> known = new HashSet<>();
        private int mistakes;

        @Override
        public void added(ObservedAllocator allocator) {
            mistakes += known.add(allocator) ? 0 : 1;
        }

        @Override
        public void removed(ObservedAllocator allocator) {
            mistakes += known.remove(allocator) ? 0 : 1;
        }
    }

    /** A provider whose calls fail before they do anything, and an environment. */
    private static final class Registered implements HeapEnds.Subject {
        private static final ObjectName BEANS = beans();

        private final FakeFactory fake = FakeFactory.gpu("Cuda");
        private final Environment environment;
        private final Consumer<Registered> call;
        private final Learning listener = new Learning();
        private boolean isObserved;

        /** Whether the environment has taken the provider over. */
        private boolean isRegistered;

        /** Whether an allocator of the application is registered, or its end has begun. */
        private boolean isShared;

        private Session session;

        /** A block of the session; 0 if there is none. */
        private long address;

        Registered(boolean isRegistered, Consumer<Registered> call) {
            this(Environments.empty(), isRegistered, call);
        }

        private Registered(Environment environment, boolean isRegistered, Consumer<Registered> call) {
            this.environment = environment;
            this.call = call;
            if (isRegistered) {
                register();
            }
        }

        static Registered with(String key, String value, Consumer<Registered> call) {
            final Environment environment = Environment.builder()
                    .modulePathProviders(false)
                    .option(key, value)
                    .build();
            return new Registered(environment, true, call);
        }

        static Registered withSession(Consumer<Registered> call) {
            return new Registered(true, call).opened();
        }

        private Registered observed() {
            environment.observe(listener);
            isObserved = true;
            return this;
        }

        private Registered opened() {
            openSession();
            return this;
        }

        private static ObjectName beans() {
            try {
                return new ObjectName("java.allocator:*");
            } catch (MalformedObjectNameException e) {
                throw new AssertionError(e);
            }
        }

        private void register() {
            environment.register(new AtomicFactory(fake));
            isRegistered = true;
        }

        private void unregister() {
            environment.unregister("Cuda");
        }

        private void openSession() {
            session = environment.openSession(SessionOptions.DEFAULT);
        }

        private void run() {
            session.run(RunOptions.DEFAULT, run -> run.stream(0));
        }

        private void allocate() {
            final ManagedAllocator allocator =
                    session.initializerAllocator(memory().location()).orElseThrow();
            address = allocator.alloc(8);
            free();
            address = allocator.alloc(16);
        }

        private void loadInitializer() {
            address = session.loadInitializer(MemorySegment.ofArray(new byte[1]));
        }

        private Registered closedWithABlock() {
            address = session.initializerAllocator(memory().location())
                    .orElseThrow()
                    .alloc(8);
            session.close();
            return this;
        }

        private void free() {
            session.initializerAllocator(memory().location()).orElseThrow().free(address);
            address = 0;
        }

        private void copy() {
            session.transfers().copy(MemorySegment.ofArray(new byte[1]), new MemoryRange(memory(), 4096, 1));
        }

        private void closeSession() {
            session.close();
        }

        private void createShared() {
            final ProviderDevice device = environment.devices().getFirst();
            environment.createSharedAllocator(device, memory(), AllocatorOptions.EMPTY);
        }

        private MemoryInfo memory() {
            return fake.devices().getFirst().memoryInfos().getFirst();
        }

        private void releaseShared() {
            environment.releaseSharedAllocator(memory().location());
        }

        private void share() {
            environment.registerAllocator(new FakeAllocator(memory()));
            isShared = true;
            unshare();
        }

        private void unshare() {
            environment.unregisterAllocator(memory().location());
            isShared = false;
        }

        /** Does the remaining steps: where the heap ended, the allocator may be rejecting requests already. */
        private void endSharing() {
            try {
                unshare();
            } catch (IllegalStateException e) {
                // Nothing was left.
            }
        }

        private void close() {
            environment.close();
        }

        @Override
        public void call() {
            call.accept(this);
        }

        /** A further change tells the listener what it has missed. */
        private void requireAllIsLearned() {
            final Learning later = new Learning();
            try {
                environment.observe(later);
            } catch (IllegalStateException e) {
                return; // the environment is closed
            }
            assertThat(listener.known).as("observed").isEqualTo(later.known);
        }

        @Override
        public void verify(boolean isDone) {
            if (isObserved) {
                requireAllIsLearned();
            }
            if (session != null) {
                assertThat(session.liveBlocks()).as("blocks").isEqualTo(address == 0 ? 0 : 1);
                free();
                session.close();
            }
            assertThat(environment.sharedAllocators())
                    .as("released, and shared")
                    .noneMatch(allocator -> allocator.lease().isReleased());
            if (!environment.providers().isEmpty()) {
                isRegistered = true;
                if (isShared) {
                    endSharing();
                }
                environment.sharedAllocators().forEach(allocator -> allocator.free(allocator.alloc(8)));
            }
            environment.close();
            assertThat(listener.known).as("observed").isEmpty();
            assertThat(listener.mistakes).as("observed twice").isZero();
            assertThat(ManagementFactory.getPlatformMBeanServer().queryNames(BEANS, null))
                    .as("beans")
                    .isEmpty();
            assertThat(environment.sharedAllocators()).isEmpty();
            assertThat(environment.providers()).isEmpty();
            assertThat(fake.created())
                    .allSatisfy(made -> assertThat(made.live()).isEmpty());
            assertThat(fake.references()).as("references").isZero();
            assertThat(fake.openStreams()).as("streams").isZero();
            assertThat(fake.isClosed()).as("closed").isEqualTo(isRegistered);
        }
    }
}
