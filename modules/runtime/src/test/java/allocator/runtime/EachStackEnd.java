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
import java.util.List;
import java.util.function.Consumer;

/**
 * A program that makes each call once for each number of frames that the stack has left, from none to more than the
 * call takes. To be interpreted: frames are of one size then, and smaller than most.
 *
 * <p>A call that overflows has changed nothing, or the next call does the rest.
 */
final class EachStackEnd {
    /** More frames than the calls take, and than {@link StackReserve} touches. */
    private static final int FRAMES = 700;

    /** Fewer frames than {@link StackReserve} touches. */
    private static final int FEW = 60;

    /** Where more than a few are left, calls are so many frames apart. */
    private static final int STEP = 10;

    /** An object under test. */
    private interface Subject {
        /** What is called where the stack ends. */
        void call();

        /** Calls again with stack enough, and checks. */
        void verify();
    }

    /** Makes a new subject. */
    private interface Maker {
        Subject make();
    }

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
        atEachEnd("create a shared allocator", () -> new Registered(true, Registered::createShared));
        atEachEnd("release a shared allocator", () -> new Registered(true, Registered::releaseShared));
        atEachEnd("share an allocator", () -> new Registered(true, Registered::share));
        atEachEnd("close of the environment", () -> new Registered(true, Registered::close));
    }

    private static void atEachEnd(String name, Maker maker) {
        final Subject first = maker.make();
        first.call(); // initializes classes
        first.verify();
        SmallStack.run(stack -> {
            final int deepest = stack.depth();
            for (int left = -2; left < FRAMES; left += left < 2 * FEW ? 1 : STEP) {
                final Subject subject = maker.make();
                final boolean isDone = stack.callAt(deepest - left, subject::call);
                try {
                    subject.verify();
                } catch (Throwable e) {
                    throw new AssertionError(
                            name + " with " + left + " frames left, which " + (isDone ? "returned" : "overflowed"), e);
                }
                assertThat(isDone && left < FEW)
                        .as("%s returned with %d frames left: what follows it has no stack", name, left)
                        .isFalse();
            }
            assertThat(stack.completed()).as(name).isGreaterThan(5);
        });
    }

    /** A lease, alone. */
    private static final class Leased implements Subject {
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
        public void verify() {
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
    private static final class Registered implements Subject {
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
        public void verify() {
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
            assertThat(fake.isClosed()).as("closed").isEqualTo(isRegistered);
        }
    }
}
