package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.StackReserve;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.lifetime.Lease;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeFactory;
import allocator.testkit.SmallStack;
import allocator.testkit.StackEnds;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A program that makes each call once for each number of frames that the stack has left, from none to more than the
 * call takes.
 *
 * <p>A call that overflows has changed nothing, or the next call does the rest.
 */
final class EachStackEnd {
    /** Fewer frames than {@link StackReserve} touches. */
    private static final int FEW = 60;

    private EachStackEnd() {}

    public static void main(String[] args) {
        atEachEnd(
                "last free",
                () -> new Leased(true, lease -> {
                    if (lease.leave()) {
                        lease.settle();
                    }
                }));
        atEachEnd("close", () -> new Leased(false, Lease::close));
        atEachEnd(
                "hold",
                () -> new Leased(false, lease -> {
                    if (lease.tryHold()) {
                        lease.endHold();
                    }
                }));
        atEachEnd(
                "pause",
                () -> new Leased(false, lease -> {
                    lease.pauseAllocations();
                    lease.resumeAllocations();
                }));
        atEachEnd("register", () -> new Registered(false, Registered::register));
        atEachEnd("unregister", () -> new Registered(true, Registered::unregister));
        atEachEnd("open a session", () -> new Registered(true, Registered::openSession));
        atEachEnd("run", () -> Registered.withSession(Registered::run));
        atEachEnd("close of a session", () -> Registered.withSession(Registered::closeSession));
        atEachEnd("create a shared allocator", () -> new Registered(true, Registered::createShared));
        atEachEnd("release a shared allocator", () -> new Registered(true, Registered::releaseShared));
        atEachEnd("share an allocator", () -> new Registered(true, Registered::share));
        atEachEnd("close of the environment", () -> new Registered(true, Registered::close));
    }

    private static void atEachEnd(String name, Supplier<StackEnds.Subject> maker) {
        SmallStack.run(stack -> assertThat(StackEnds.each(stack, name, 1, maker))
                .as("frames left where %s returned: what follows it needs stack", name)
                .isGreaterThanOrEqualTo(FEW));
    }

    /** A lease, alone. */
    private static final class Leased implements StackEnds.Subject {
        private final AllocatorInstances instances = new AllocatorInstances();
        private final AllocatorReference reference;
        private final Lease lease;
        private final Consumer<Lease> call;
        private int returns;

        Leased(boolean hasBlock, Consumer<Lease> call) {
            this.call = call;
            final Allocator allocator = new FakeAllocator(FakeDevice.INFO);
            reference = AllocatorReference.create(instances, "fake", List.of(), () -> allocator, _ -> giveBack());
            lease = new Lease(reference, () -> {});
            if (hasBlock) {
                lease.enter();
                lease.close();
            }
        }

        private void giveBack() {
            StackReserve.touch();
            returns++;
        }

        @Override
        public void call() {
            call.accept(lease);
        }

        @Override
        public void verify(boolean isDone) {
            if (lease.count() > 0) {
                lease.leave();
            }
            if (!lease.isReleased()) {
                assertThat(lease.awaitCalls()).as("no call holds it").isTrue();
                lease.rejectAllocations();
                assertThat(lease.awaitDecision()).as("allocations").isFalse();
                lease.close();
            }
            lease.settle();
            final Cleanup cleanup = new Cleanup();
            instances.returnAll(cleanup);
            cleanup.throwIfAny();
            assertThat(lease.isReleased()).as("released").isTrue();
            assertThat(reference.users()).as("users").isZero();
            assertThat(reference.isReturning()).as("returning").isFalse();
            assertThat(instances.references(reference.instance()))
                    .as("references")
                    .isZero();
            assertThat(returns).as("returns").isEqualTo(1);
        }
    }

    /** A provider whose calls fail before they do anything, and an environment. */
    private static final class Registered implements StackEnds.Subject {
        private final FakeFactory fake = FakeFactory.gpu("Cuda");
        private final Environment environment = Environments.empty();
        private final Consumer<Registered> call;
        /** Whether the environment has taken the provider over. */
        private boolean isRegistered;

        /** Whether an allocator of the application is registered, or its end has begun. */
        private boolean isShared;

        private Session session;

        Registered(boolean isRegistered, Consumer<Registered> call) {
            this.call = call;
            if (isRegistered) {
                register();
            }
        }

        static Registered withSession(Consumer<Registered> call) {
            final Registered registered = new Registered(true, call);
            registered.openSession();
            return registered;
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

        /** Does what is left to do: where the stack ended, the allocator may be rejecting requests already. */
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

        @Override
        public void verify(boolean isDone) {
            if (session != null) {
                session.close();
            }
            if (!environment.providers().isEmpty()) {
                isRegistered = true;
                if (isShared) {
                    endSharing();
                }
                environment.sharedAllocators().forEach(allocator -> allocator.free(allocator.alloc(8)));
            }
            environment.close();
            assertThat(environment.sharedAllocators()).isEmpty();
            assertThat(environment.providers()).isEmpty();
            assertThat(fake.references()).as("references").isZero();
            assertThat(fake.openStreams()).as("streams").isZero();
            assertThat(fake.isClosed()).as("closed").isEqualTo(isRegistered);
        }
    }
}
