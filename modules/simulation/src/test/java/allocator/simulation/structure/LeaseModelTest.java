package allocator.simulation.structure;

import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Lease;
import allocator.testkit.FakeDevice;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two leases on one allocator, each of which frees blocks of the other. */
@Param(name = "lease", gen = IntGen.class, conf = "0:1")
@Tag("thorough")
public class LeaseModelTest {
    private final FakeDevice allocator = new FakeDevice();
    private final AllocatorInstances instances = new AllocatorInstances();
    private final AtomicInteger returned = new AtomicInteger();
    private final AtomicInteger blocks = new AtomicInteger();
    private final Lease[] leases = {newLease(), newLease()};
    private final AtomicBoolean[] isClosed = {new AtomicBoolean(), new AtomicBoolean()};

    private Lease newLease() {
        return new Lease(
                new AllocatorReference(instances, "fake", List.of(), () -> allocator, ignored -> giveBack()), () -> {});
    }

    private void giveBack() {
        if (returned.incrementAndGet() == 2 && blocks.get() != 0) {
            throw new AssertionError("the last reference was returned with " + blocks + " live blocks");
        }
    }

    @Operation
    public void allocate(@Param(name = "lease") int number) {
        final Lease lease = leases[number];
        if (lease.enter()) {
            requireHeld();
            blocks.incrementAndGet();
        }
    }

    private void requireHeld() {
        if (returned.get() == 2) {
            throw new AssertionError("a block is live after the last return");
        }
    }

    @Operation
    public void free(@Param(name = "lease") int number) {
        final Lease lease = leases[number];
        final int live = blocks.get();
        if (!lease.isReleased() && live > 0 && blocks.compareAndSet(live, live - 1)) {
            requireHeld();
            lease.leave();
        }
    }

    @Operation
    public void close(@Param(name = "lease") int number) {
        isClosed[number].set(true);
        leases[number].close();
    }

    @Operation
    public void hold(@Param(name = "lease") int number) {
        if (leases[number].tryCall()) {
            try {
                requireHeld();
            } finally {
                leases[number].endCall();
            }
        }
    }

    @Validate
    public void whatIsClosedAndHasNoBlocksIsReturned() {
        if (isClosed[0].get() && isClosed[1].get() && blocks.get() == 0 && returned.get() != 2) {
            throw new AssertionError("returned " + returned + " of 2 references");
        }
    }

    @Test
    void theLastFreeReturnsTheAllocator() {
        ModelCheck.check(LeaseModelTest.class);
    }
}
