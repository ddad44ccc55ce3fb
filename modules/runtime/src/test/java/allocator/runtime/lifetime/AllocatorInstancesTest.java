package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class AllocatorInstancesTest {
    private static final int USERS = 10_000;

    private final AllocatorInstances instances = new AllocatorInstances();
    private final List<Lease> leases = new ArrayList<>();

    private Lease lease(Allocator allocator) {
        final Lease lease = new Lease(
                new AllocatorReference(instances, "fake", List.of(), () -> allocator, returned -> {}), () -> {});
        leases.add(lease);
        return lease;
    }

    /** Were the counts of all added up for each close, they would be added up 1.6 thousand million times. */
    @Test
    @Timeout(60)
    void aCloseWithLiveBlocksDoesNotLookAtAllUsers() {
        final Allocator allocator = new FakeDevice();
        for (int i = 0; i < 4 * USERS; i++) {
            assertThat(lease(allocator).enter()).isTrue();
        }
        leases.forEach(Lease::close);
        assertThat(leases).noneMatch(Lease::isReleased);
        leases.forEach(Lease::leave);
        assertThat(leases).allMatch(Lease::isReleased);
    }

    @Test
    @Timeout(60)
    void manyUsersWhoseBlocksAnotherFreedAreAllReleased() {
        final Allocator allocator = new FakeDevice();
        for (int i = 0; i < USERS; i++) {
            lease(allocator).enter();
        }
        final Lease freeing = lease(allocator);
        leases.removeLast();
        leases.forEach(Lease::close);
        leases.forEach(lease -> freeing.leave());
        assertThat(leases).noneMatch(Lease::isReleased);
        leases.forEach(Lease::close);
        assertThat(leases).allMatch(Lease::isReleased);
    }

    /** A lease whose provider does not take the reference back. */
    private Lease failing(Allocator allocator, List<String> events) {
        return new Lease(
                new AllocatorReference(instances, "fake", List.of(), () -> allocator, returned -> {
                    events.add("return");
                    throw new IllegalStateException("not taken back");
                }),
                () -> events.add("released"));
    }

    @Test
    void anOwnerLearnsOfItsReleaseAfterTheReturnWhateverThatThrows() {
        final List<String> events = new ArrayList<>();
        assertThatThrownBy(failing(new FakeDevice(), events)::close).hasMessage("not taken back");
        assertThat(events).containsExactly("return", "released");
    }

    @Test
    void aReturnThatFailsKeepsNoOtherUserFromBeingReleased() {
        final Allocator allocator = new FakeDevice();
        final List<String> events = new ArrayList<>();
        final List<Lease> draining = List.of(failing(allocator, events), failing(allocator, events));
        final Lease freeing = lease(allocator);
        draining.forEach(lease -> {
            lease.enter();
            lease.close();
        });
        draining.forEach(lease -> freeing.leave());
        assertThatThrownBy(draining.getFirst()::settle).hasMessage("not taken back");
        assertThat(draining).allMatch(Lease::isReleased);
    }

    /** The provider may be closed after the wait. */
    @Test
    @Timeout(60)
    void aWaitForTheReleaseIsOneForTheReturnByAnotherThread() throws Exception {
        final CountDownLatch isReturning = new CountDownLatch(1);
        final CountDownLatch mayReturn = new CountDownLatch(1);
        final List<String> events = new CopyOnWriteArrayList<>();
        final Lease lease = new Lease(
                new AllocatorReference(instances, "fake", List.of(), FakeDevice::new, returned -> {
                    isReturning.countDown();
                    awaitUninterrupted(mayReturn);
                    events.add("return");
                }),
                () -> {});
        lease.enter();
        lease.close();
        final Thread freeing = Thread.ofPlatform().start(lease::leave);
        isReturning.await();
        final Thread ending = Thread.ofPlatform().start(() -> {
            LockSupport.parkNanos(50_000_000);
            mayReturn.countDown();
        });
        lease.awaitRelease();
        assertThat(events).containsExactly("return");
        freeing.join();
        ending.join();
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aUserThatIsRemovedLeavesTheCountsOfTheOthers() {
        final Allocator allocator = new FakeDevice();
        for (int i = 0; i < 4; i++) {
            lease(allocator);
        }
        assertThat(leases.get(3).enter()).isTrue();
        leases.get(0).close();
        leases.get(3).close();
        leases.get(1).close();
        assertThat(leases).extracting(Lease::isReleased).containsExactly(true, true, false, false);
        leases.get(3).leave();
        leases.get(2).close();
        assertThat(leases).allMatch(Lease::isReleased);
    }

    /** The owner whose thread was between the free and the look at the state saw it draining. */
    @Test
    void aFreeThatComesBetweenTheCountAndTheReleaseIsCarriedOver() {
        final Allocator allocator = new FakeDevice();
        final Lease owner = lease(allocator);
        final Runnable[] betweenCountAndEnd = {() -> {}};
        final Lease other = new Lease(
                new AllocatorReference(instances, "fake", List.of(), () -> allocator, returned -> {}),
                () -> betweenCountAndEnd[0].run());
        betweenCountAndEnd[0] = other::leave;
        assertThat(owner.enter()).isTrue();
        owner.close();

        other.close(); // the owner's block is freed through it meanwhile

        assertThat(other.isReleased()).isTrue();
        assertThat(owner.isReleased()).isTrue();
    }
}
