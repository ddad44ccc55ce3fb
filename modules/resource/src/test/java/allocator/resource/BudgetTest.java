package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class BudgetTest {
    private final AddressesResource addresses = new AddressesResource(10_000);

    @Test
    void theLimitCanBeFilledToTheLastByteAndNoFurther() {
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget);
        long address = resource.allocate(60);
        resource.allocate(40);
        assertThatThrownBy(() -> resource.allocate(1))
                .isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                    assertThat(e.shortage().requested()).isEqualTo(1);
                    assertThat(e.shortage().limit()).isEqualTo(100);
                    assertThat(e.shortage().inUse()).isEqualTo(100);
                    assertThat(e.shortage().largestFree()).isZero();
                })
                .hasMessageContaining("The budget all has no 1 bytes left");
        resource.deallocate(address, 60);
        resource.allocate(60);
        assertThat(budget.status()).isEqualTo(new Budget.Status("all", 100, 100, 0, 0, 100, 1));
    }

    @Test
    void aFailureBelowIsRolledBack() {
        Budget budget = Budget.of("all", 100_000);
        MemoryResource resource = new BudgetResource(addresses, budget);
        assertThatThrownBy(() -> resource.allocate(10_001)).isInstanceOf(OutOfMemoryException.class);
        assertThatThrownBy(() -> resource.allocate(1, 512)).isInstanceOf(InvalidAlignmentException.class);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void aRefusedDeallocationReleasesNothingAndADriverFailureDoes() {
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget);
        long address = resource.allocate(60);
        assertThatThrownBy(() -> resource.deallocate(address + 1, 60)).isInstanceOf(ForeignAddressException.class);
        assertThat(budget.status().charge()).isEqualTo(60);
        addresses.afterFree(() -> {
            throw new DeviceException("the driver fails", null);
        });
        assertThatThrownBy(() -> resource.deallocate(address, 60)).isInstanceOf(DeviceException.class);
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void bytesAreReleasedOnlyWhenTheUpstreamHasThem() {
        Budget budget = Budget.of("all", 100);
        List<Long> chargedDuringFree = new ArrayList<>();
        addresses.afterFree(() -> chargedDuringFree.add(budget.status().charge()));
        MemoryResource resource = new BudgetResource(addresses, budget);
        resource.deallocate(resource.allocate(100), 100);
        assertThat(chargedDuringFree).containsExactly(100L);
    }

    @Test
    void aChildIsBoundByItselfAndByEveryLevelAbove() {
        Budget device = Budget.of("device", 100);
        Budget tenant = device.child("tenant", 80);
        Budget task = tenant.child("task", 70);
        assertThat(task.tryCharge(70)).isTrue();
        assertThat(task.tryCharge(1)).isFalse();
        assertThat(tenant.tryCharge(10)).isTrue();
        assertThat(tenant.tryCharge(1)).isFalse();
        assertThat(device.tryCharge(20)).isTrue();
        assertThat(device.tryCharge(1)).isFalse();
        assertThat(task.tryCharge(0)).isTrue();
        task.release(70);
        assertThat(device.status().charge()).isEqualTo(30);
        assertThat(tenant.status().available()).isEqualTo(70);
        assertThat(device.tryCharge(70)).isTrue();
        assertThat(task.tryCharge(1)).isFalse();
        assertThat(task.status().refusals()).isEqualTo(1);
        assertThat(tenant.status().refusals()).isEqualTo(1);
        assertThat(device.status().refusals()).isEqualTo(2);
    }

    @Test
    void whatIsReservedCannotBeTakenByOthersAndGoesBackOnClose() {
        Budget device = Budget.of("device", 100);
        Budget reserved = Objects.requireNonNull(device.tryReserve("weights", 60));
        assertThat(device.tryReserve("more", 41)).isNull();
        assertThat(device.tryCharge(41)).isFalse();
        assertThat(device.tryCharge(40)).isTrue();
        assertThat(reserved.tryCharge(50)).isTrue();
        assertThat(reserved.tryCharge(11)).isFalse();
        assertThat(device.status().charge()).isEqualTo(100);
        reserved.close();
        assertThat(device.status().charge()).isEqualTo(90);
        assertThatThrownBy(() -> reserved.tryCharge(1)).isInstanceOf(IllegalStateException.class);
        reserved.release(50);
        assertThat(device.status().charge()).isEqualTo(40);
        reserved.close();
        assertThat(device.status().charge()).isEqualTo(40);
    }

    @Test
    void tooMuchIsNeverReleased() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(10)).isTrue();
        assertThatThrownBy(() -> budget.release(11)).isInstanceOf(IllegalStateException.class);
        assertThat(budget.status().charge()).isEqualTo(10);
        assertThatThrownBy(() -> budget.tryCharge(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThat(budget.tryCharge(Long.MAX_VALUE)).isFalse();
    }

    @Test
    void aLoweredLimitTakesNothingAway() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(80)).isTrue();
        budget.setLimit(50);
        assertThat(budget.tryCharge(1)).isFalse();
        assertThat(budget.status().available()).isZero();
        budget.release(31);
        assertThat(budget.tryCharge(1)).isTrue();
    }

    @Test
    void aDeviceHasOneBudgetForTheWholeProcess() {
        var location = new MemoryLocation(DeviceType.FPGA, 7, 3, MemoryType.DEFAULT);
        Budget budget = Budget.ofDevice(location);
        assertThat(Budget.ofDevice(new MemoryLocation(DeviceType.FPGA, 7, 3, MemoryType.DEFAULT)))
                .isSameAs(budget);
        assertThat(budget.status().limit()).isEqualTo(Budget.UNLIMITED);
    }

    @Test
    void theLadderIsClimbedInOrderUntilTheRequestFits() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        List<String> climbed = new ArrayList<>();
        PressureLadder ladder = PressureLadder.NONE
                .then("reap", bytes -> {
                    climbed.add("reap");
                    return 0;
                })
                .then("shrink", bytes -> {
                    climbed.add("shrink");
                    budget.release(30);
                    return 30;
                })
                .then("call back", bytes -> {
                    climbed.add("call back");
                    budget.release(30);
                    return 30;
                })
                .then("never", bytes -> {
                    climbed.add("never");
                    return 0;
                });
        MemoryResource resource = new BudgetResource(addresses, budget, ladder);
        resource.allocate(50);
        assertThat(climbed).containsExactly("reap", "shrink", "call back");
    }

    @Test
    void whatTheLadderTriedIsInTheReport() {
        PressureLadder ladder = PressureLadder.NONE.then("reap", bytes -> 0).then("spill", bytes -> {
            throw new IllegalStateException("no disk");
        });
        Budget budget = Budget.of("all", 100);
        MemoryResource resource = new BudgetResource(addresses, budget, ladder);
        resource.allocate(100);
        assertThatThrownBy(() -> resource.allocate(1))
                .isInstanceOfSatisfying(
                        OutOfMemoryException.class,
                        e -> assertThat(e.dump())
                                .contains("reap: 0 bytes freed in ")
                                .contains("spill: failed with java.lang.IllegalStateException: no disk"));
    }

    @Test
    void whatCouldNeverFitIsRefusedWithoutClimbing() {
        List<Long> climbed = new ArrayList<>();
        MemoryResource resource =
                new BudgetResource(addresses, Budget.of("all", 100), PressureLadder.NONE.then("reap", bytes -> {
                    climbed.add(bytes);
                    return bytes;
                }));
        assertThatThrownBy(() -> resource.allocate(101)).isInstanceOf(OutOfMemoryException.class);
        MemoryResource child = new BudgetResource(
                addresses, Budget.of("device", 100).child("tenant", 1000), PressureLadder.NONE.then("reap", bytes -> {
                    climbed.add(bytes);
                    return bytes;
                }));
        assertThatThrownBy(() -> child.allocate(101)).isInstanceOf(OutOfMemoryException.class);
        assertThat(climbed).isEmpty();
    }

    @Test
    void roomThatAnotherMadeMeanwhileIsFound() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        MemoryResource resource = new BudgetResource(addresses, budget, PressureLadder.NONE.then("reap", bytes -> {
            budget.release(100); // as a thread does that reaps at the same time
            return 0;
        }));
        resource.deallocate(resource.allocate(50), 50);
    }

    @Test
    void aRungThatAllocatesDoesNotClimbAgain() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(100)).isTrue();
        AtomicLong climbed = new AtomicLong();
        List<MemoryResource> self = new ArrayList<>();
        MemoryResource resource = new BudgetResource(addresses, budget, PressureLadder.NONE.then("spill", bytes -> {
            climbed.incrementAndGet();
            return self.getFirst().allocate(10);
        }));
        self.add(resource);
        assertThatThrownBy(() -> resource.allocate(1)).isInstanceOf(OutOfMemoryException.class);
        assertThat(climbed).hasValue(1);
    }

    @Test
    void aRequestPaysFromItsOwnBudgetWhoeverDeallocates() throws Exception {
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        Budget request = Budget.of("request", 100);
        long address = ScopedValue.where(RequestBudgetResource.CURRENT, request).call(() -> {
            assertThatThrownBy(() -> resource.allocate(101)).isInstanceOf(OutOfMemoryException.class);
            return resource.allocate(60);
        });
        long outside = resource.allocate(500);
        assertThat(request.status().charge()).isEqualTo(60);
        Thread.ofVirtual().start(() -> resource.deallocate(address, 60)).join();
        assertThat(request.status().charge()).isZero();
        resource.deallocate(outside, 500);
        assertThat(addresses.bytes()).isZero();
    }

    @Test
    void aRequestsBudgetStaysChargedWhenADeallocationIsRefused() {
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        Budget request = Budget.of("request", 100);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            long address = resource.allocate(60);
            assertThatThrownBy(() -> resource.deallocate(address, 61)).isInstanceOf(ForeignAddressException.class);
            assertThat(request.status().charge()).isEqualTo(60);
            resource.deallocate(address, 60);
            assertThat(request.status().charge()).isZero();
        });
    }

    @Test
    void aBudgetThatCountsTwiceIsRefused() {
        Budget device = Budget.of("device", 100);
        MemoryResource budgeted = new StatisticsResource(new BudgetResource(addresses, device));
        assertThatThrownBy(() -> new BudgetResource(budgeted, device.child("tenant", 10)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("count twice");
        var requests = new RequestBudgetResource(budgeted);
        Budget part = device.child("request", 10);
        assertThatThrownBy(() ->
                        ScopedValue.where(RequestBudgetResource.CURRENT, part).call(() -> requests.allocate(1)))
                .isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new RequestBudgetResource(requests)).isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new BudgetResource(new AlignedResource(addresses, 512), Budget.of("other", 1)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("put Aligned above Budget");
        assertThat(new BudgetResource(budgeted, Budget.of("other", 1)).upstream())
                .isSameAs(budgeted);
    }

    @Test
    void aBudgetThatCountsTwiceIsSeenThroughAllocators() {
        Budget device = Budget.of("device", 100);
        MemoryResource below = new AllocatorResource(ResourceAllocator.of(new BudgetResource(addresses, device)));
        assertThatThrownBy(() -> new BudgetResource(below, device)).isInstanceOf(StackOrderException.class);
        assertThatThrownBy(() -> new BudgetResource(new FallbackResource(addresses, below), device))
                .isInstanceOf(StackOrderException.class);
    }

    @Test
    void aRequestsBudgetIsNoPartOfOneThatIsChargedAbove() {
        Budget device = Budget.of("device", 100);
        MemoryResource stack = new BudgetResource(new RequestBudgetResource(addresses), device);
        assertThatThrownBy(() -> ScopedValue.where(RequestBudgetResource.CURRENT, device.child("request", 10))
                        .call(() -> stack.allocate(1)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("a request would count twice");
        assertThat(device.status().charge()).isZero();
        ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request", 10))
                .run(() -> stack.deallocate(stack.allocate(1), 1));
        assertThatThrownBy(() -> new RequestBudgetResource(new AlignedResource(addresses, 512)))
                .isInstanceOf(StackOrderException.class)
                .hasMessageContaining("put Aligned above Budget");
    }

    @Test
    void aRefusedRequestAboveReleasesWhatItsRequestWasCharged() {
        Budget request = Budget.of("request", 100_000);
        RequestBudgetResource resource = new RequestBudgetResource(addresses);
        ScopedValue.where(RequestBudgetResource.CURRENT, request).run(() -> {
            assertThatThrownBy(() -> resource.allocate(10_001)).isInstanceOf(OutOfMemoryException.class);
            assertThat(request.status().charge()).isZero();
            long address = resource.allocate(100);
            addresses.afterFree(() -> {
                throw new DeviceException("the driver fails", null);
            });
            assertThatThrownBy(() -> resource.deallocate(address, 100)).isInstanceOf(DeviceException.class);
            assertThat(request.status().charge()).isZero();
        });
    }

    /** Every thread asks for what is surely there, since what all may hold together is exactly the limit. */
    @Test
    void sixteenThreadsAndAMillionRequestsNeverPassTheLimitNorAreRefusedWhatFits() throws Exception {
        int threads = 16;
        int requests = 62_500;
        long share = 1 << 20;
        Budget device = Budget.of("device", threads * share);
        AtomicLong outstanding = new AtomicLong();
        try (var pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                Budget tenant = device.child("tenant " + thread, share);
                SplittableRandom random = new SplittableRandom(thread);
                all.add(pool.submit(() -> {
                    Deque<Long> held = new ArrayDeque<>();
                    long sum = 0;
                    for (int i = 0; i < requests; i++) {
                        long byteSize = 1 + random.nextLong(share / 8);
                        while (byteSize > share - sum) {
                            long returned = held.remove();
                            outstanding.addAndGet(-returned);
                            tenant.release(returned);
                            sum -= returned;
                        }
                        assertThat(tenant.tryCharge(byteSize)).isTrue();
                        assertThat(outstanding.addAndGet(byteSize)).isLessThanOrEqualTo(threads * share);
                        held.add(byteSize);
                        sum += byteSize;
                    }
                    for (long returned : held) {
                        tenant.release(returned);
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(device.status().charge()).isZero();
        assertThat(device.status().refusals()).isZero();
        assertThat(device.status().peakCharge()).isLessThanOrEqualTo(threads * share);
    }

    /** Threads fight for less than all of them want: grants never pass the limit, and in the end nothing is missing. */
    @Test
    void threadsThatWantMoreThanThereIsNeverPassTheLimit() throws Exception {
        int threads = 16;
        long limit = 1 << 20;
        Budget device = Budget.of("device", limit);
        AtomicLong outstanding = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        try (var pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                Budget budget = thread % 2 == 0 ? device : device.child("half " + thread, limit / 2);
                SplittableRandom random = new SplittableRandom(thread);
                all.add(pool.submit(() -> {
                    for (int i = 0; i < 20_000; i++) {
                        long byteSize = 1 + random.nextLong(limit / 3);
                        if (budget.tryCharge(byteSize)) {
                            assertThat(outstanding.addAndGet(byteSize)).isLessThanOrEqualTo(limit);
                            Thread.onSpinWait();
                            outstanding.addAndGet(-byteSize);
                            budget.release(byteSize);
                        } else {
                            refused.incrementAndGet();
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(device.status().charge()).isZero();
        assertThat(device.tryCharge(limit)).isTrue();
    }

    /** A tree of budgets against a model that adds everything up anew for each step. */
    @Property(tries = 300)
    void aTreeOfBudgetsKeepsItsSums(@ForAll @Size(max = 80) List<@IntRange(max = 9999) Integer> steps) {
        Budget device = Budget.of("device", 1000);
        Budget tenant = device.child("tenant", 700);
        Budget reserved = Objects.requireNonNull(device.tryReserve("reserved", 200));
        Budget task = tenant.child("task", 500);
        Budget held = Objects.requireNonNull(tenant.tryReserve("held", 100));
        Budget[] budgets = {device, tenant, reserved, task, held};
        long[] own = new long[budgets.length];
        for (int step : steps) {
            int which = step % budgets.length;
            long byteSize = step / 10 % 300;
            if (step % 3 > 0) {
                long before = budgets[which].status().available();
                boolean granted = budgets[which].tryCharge(byteSize);
                assertThat(granted).isEqualTo(byteSize <= before);
                own[which] += granted ? byteSize : 0;
            } else {
                long returned = Math.min(byteSize, own[which]);
                budgets[which].release(returned);
                own[which] -= returned;
            }
            long ofTenant = own[1] + own[3] + Math.max(own[4], 100);
            assertThat(tenant.status().charge()).isEqualTo(ofTenant).isLessThanOrEqualTo(700);
            assertThat(device.status().charge())
                    .isEqualTo(own[0] + ofTenant + Math.max(own[2], 200))
                    .isLessThanOrEqualTo(1000);
        }
    }
}
