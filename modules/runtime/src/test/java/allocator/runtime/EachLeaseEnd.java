package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.internal.Failures;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Lease;
import allocator.spi.Allocator;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeDevice;
import allocator.testkit.HeapEnds;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The calls of leases and references at each end; a part of {@link EachEnd}. */
final class EachLeaseEnd {
    private EachLeaseEnd() {}

    static void run() {
        HeapEnds.each("last free", () -> new Leased(true, Lease::leave));
        HeapEnds.each("close", () -> new Leased(false, Lease::close));
        HeapEnds.each(
                "pause",
                () -> new Leased(false, lease -> {
                    lease.pauseAllocations();
                    lease.resumeAllocations();
                }));
        HeapEnds.each("use", Used::new);
    }

    /** A lease, alone. */
    private static final class Leased implements HeapEnds.Subject {
        private final AllocatorInstances instances = new AllocatorInstances();
        private final AllocatorReference reference;
        private final Lease lease;
        private final Consumer<Lease> call;
        private int returns;

        Leased(boolean hasBlock, Consumer<Lease> call) {
            this.call = call;
            final Allocator allocator = new FakeAllocator(FakeDevice.INFO);
            reference = new AllocatorReference(instances, "fake", List.of(), () -> allocator, _ -> giveBack());
            lease = new Lease(reference, () -> {});
            if (hasBlock) {
                lease.enter();
                lease.close();
            }
        }

        private void giveBack() {
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
            final Failures failures = new Failures();
            instances.returnAgain(provider -> true, failures);
            failures.throwIfAny();
            assertThat(lease.isReleased()).as("released").isTrue();
            assertThat(reference.users()).as("users").isZero();
            assertThat(instances.references(reference.instance()))
                    .as("references")
                    .isZero();
            assertThat(returns).as("returns").isEqualTo(1);
        }
    }

    /** Uses of one instance, of which the last is made where the table of users is full. */
    private static final class Used implements HeapEnds.Subject {
        private final AllocatorInstances instances = new AllocatorInstances();
        private final Allocator allocator = new FakeAllocator(FakeDevice.INFO);
        private final List<Lease> leases = new ArrayList<>();
        private int out;
        private boolean isRejecting;

        Used() {
            call();
            call();
        }

        @Override
        public void call() {
            final AllocatorReference reference = create();
            try {
                leases.add(new Lease(reference, () -> {}));
            } catch (Throwable e) {
                reference.releaseAfter(e);
                throw e;
            }
        }

        private AllocatorReference create() {
            return new AllocatorReference(instances, "fake", List.of(), this::take, _ -> giveBack());
        }

        private Allocator take() {
            out++;
            return allocator;
        }

        private void giveBack() {
            if (isRejecting) {
                isRejecting = false;
                throw new IllegalStateException("not now");
            }
            out--;
        }

        /** The last return fails, and is tried again. */
        @Override
        public void verify(boolean isDone) {
            final Lease last = leases.removeLast();
            leases.forEach(Lease::close);
            isRejecting = true;
            assertThatThrownBy(last::close).hasMessage("not now");
            instances.returnAgain(provider -> true, new Failures());
            assertThat(out).as("references").isZero();
        }
    }
}
