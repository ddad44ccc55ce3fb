package allocator.provider.support.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceType;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class BudgetTest {
    @Test
    void aChildIsLimitedByItselfAndByEveryLevelAbove() {
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
        assertThat(task.status().rejections()).isEqualTo(1);
        assertThat(tenant.status().rejections()).isEqualTo(1);
        assertThat(device.status().rejections()).isEqualTo(2);
    }

    @Test
    void aBudgetAsTextSaysWhatIsInUseOfWhichLimit() {
        Budget machine = Budget.of("machine", Budget.UNLIMITED);
        Budget tenant = machine.child("tenant", 64L << 20);
        assertThat(tenant.tryCharge(48L << 20)).isTrue();
        tenant.release(48L << 20);
        assertThat(tenant.tryCharge(1000)).isTrue();
        assertThat(tenant)
                .hasToString("machine/tenant: 1,000 bytes of 64.0 MiB (67,108,864 bytes) in use,"
                        + " peak 48.0 MiB (50,331,648 bytes)");
        assertThat(machine)
                .hasToString("machine: 1,000 bytes of unlimited memory in use, peak 48.0 MiB (50,331,648 bytes)");
    }

    @Test
    void nothingIsChargedBelowABudgetThatIsClosed() {
        Budget device = Budget.of("device", 100);
        Budget tenant = device.child("tenant", 80);
        Budget task = tenant.child("task", 70);
        Budget reserved = Objects.requireNonNull(tenant.tryReserve("weights", 10));
        assertThat(task.tryCharge(5)).isTrue();
        tenant.close();
        for (Budget below : List.of(tenant, task, reserved)) {
            assertThatThrownBy(() -> below.tryCharge(1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the budget device/tenant is closed");
            assertThat(below.status().available()).isZero();
        }
        assertThatThrownBy(() -> task.tryReserve("more", 1)).isInstanceOf(IllegalStateException.class);
        task.release(5);
        reserved.close();
        assertThat(device.status().charge()).isZero();
        assertThat(device.tryCharge(100)).isTrue();
    }

    @Test
    void aCloseAgainstChargesBelowLeavesNothingChargedAfterIt() throws Exception {
        for (int round = 0; round < 200; round++) {
            Budget device = Budget.of("device", Budget.UNLIMITED);
            Budget tenant = device.child("tenant", Budget.UNLIMITED);
            Budget task = tenant.child("task", Budget.UNLIMITED);
            Thread charging = Thread.ofPlatform().start(() -> {
                try {
                    for (int call = 0; call < 1_000_000; call++) {
                        task.charge(1);
                    }
                } catch (IllegalStateException e) {
                    // The tenant is closed.
                }
            });
            while (device.status().charge() == 0) {
                Thread.onSpinWait();
            }
            tenant.close();
            long charged = device.status().charge();
            charging.join();
            assertThat(device.status().charge()).as("round " + round).isEqualTo(charged);
        }
    }

    @Test
    void aReservationCannotBeTakenByOthersAndIsReleasedOnClose() {
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
    void moreThanTheChargeCannotBeReleased() {
        Budget budget = Budget.of("all", 100);
        assertThat(budget.tryCharge(10)).isTrue();
        assertThatThrownBy(() -> budget.release(11)).isInstanceOf(IllegalStateException.class);
        assertThat(budget.status().charge()).isEqualTo(10);
        assertThatThrownBy(() -> budget.tryCharge(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThat(budget.tryCharge(Long.MAX_VALUE)).isFalse();
    }

    @Test
    void whatIsChargedToAChildIsTheChildsToRelease() {
        Budget parent = Budget.of("parent", 1000);
        Budget reserved = Objects.requireNonNull(parent.tryReserve("reserved", 600));
        Budget child = parent.child("child", 300);
        assertThat(child.tryCharge(300)).isTrue();
        assertThat(parent.tryCharge(50)).isTrue();
        assertThatThrownBy(() -> parent.release(51))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("release of 51 bytes from parent, to which 50 are charged, not counting its children");
        assertThat(parent.status().charge()).isEqualTo(950);
        parent.release(50);
        assertThatThrownBy(() -> parent.release(1)).isInstanceOf(IllegalStateException.class);
        reserved.close();
        child.release(300);
        assertThat(parent.status().charge()).isZero();
        assertThat(parent.tryCharge(1001)).isFalse();
    }

    @Test
    void loweringTheLimitKeepsTheCharge() {
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
    void theBudgetOfADeviceCannotBeClosed() {
        var location = new MemoryLocation(DeviceType.FPGA, 7, 4, MemoryType.DEFAULT);
        Budget first = Budget.ofDevice(location);
        Budget child = first.child("child", 10);
        first.close();
        assertThat(Budget.ofDevice(location).tryCharge(1)).isTrue();
        assertThat(child.tryCharge(10)).isTrue();
        assertThat(first.status().available()).isEqualTo(Budget.UNLIMITED - 11);
        child.release(10);
        first.release(1);
    }

    /** The shares of all threads add up to the limit, so no request within a share may be rejected. */
    @Test
    void aMillionRequestsOfSixteenThreadsNeverExceedTheLimitAndAreAllGranted() throws Exception {
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
        assertThat(device.status().rejections()).isZero();
        assertThat(device.status().peakCharge()).isLessThanOrEqualTo(threads * share);
    }

    /** Threads compete for less than they request: grants never exceed the limit, and at the end nothing is charged. */
    @Test
    void threadsThatRequestMoreThanTheLimitNeverExceedIt() throws Exception {
        int threads = 16;
        long limit = 1 << 20;
        Budget device = Budget.of("device", limit);
        AtomicLong outstanding = new AtomicLong();
        AtomicLong rejected = new AtomicLong();
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
                            rejected.incrementAndGet();
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

    /** Threads charge and release more or less than they charged: only own charges are released, and no sum is lost. */
    @Test
    void threadsThatReleaseTooMuchReleaseNothingOfOthers() throws Exception {
        Budget device = Budget.of("device", 1000);
        Budget reserved = Objects.requireNonNull(device.tryReserve("reserved", 200));
        Budget tenant = device.child("tenant", 500);
        Budget task = Objects.requireNonNull(tenant.tryReserve("task", 100));
        List<Budget> budgets = List.of(device, reserved, tenant, task);
        AtomicLongArray own = new AtomicLongArray(budgets.size());
        AtomicLong rejected = new AtomicLong();
        try (var pool = Executors.newFixedThreadPool(8)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                SplittableRandom random = new SplittableRandom(thread);
                all.add(pool.submit(() -> {
                    for (int i = 0; i < 20_000; i++) {
                        int which = random.nextInt(budgets.size());
                        long byteSize = random.nextLong(300);
                        if (random.nextBoolean()) {
                            own.addAndGet(which, budgets.get(which).tryCharge(byteSize) ? byteSize : 0);
                        } else if (isReleased(budgets.get(which), byteSize)) {
                            own.addAndGet(which, -byteSize);
                        } else {
                            rejected.incrementAndGet();
                        }
                        assertThat(device.status().charge()).isBetween(300L, 1000L);
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(rejected.get()).isPositive();
        long ofTenant = own.get(2) + Math.max(own.get(3), 100);
        assertThat(tenant.status().charge()).isEqualTo(ofTenant);
        assertThat(device.status().charge()).isEqualTo(own.get(0) + ofTenant + Math.max(own.get(1), 200));
        for (int which = 0; which < budgets.size(); which++) {
            budgets.get(which).release(own.get(which));
            budgets.get(which).close();
        }
        assertThat(device.status().charge()).isZero();
    }

    private static boolean isReleased(Budget budget, long byteSize) {
        return isDone(() -> budget.release(byteSize));
    }

    private static boolean isDone(Runnable call) {
        try {
            call.run();
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /**
     * Compares a tree of budgets with a model that recomputes all sums at every step: the charge of each is its own
     * charges and the shares of its children, and what is pending of it is its own and that of its children.
     */
    @Property(tries = 500)
    void aTreeOfBudgetsKeepsItsSums(@ForAll @Size(max = 80) List<@IntRange(max = 99_999) Integer> steps) {
        Budget device = Budget.of("device", 1000);
        Budget tenant = device.child("tenant", 700);
        Budget reserved = Objects.requireNonNull(device.tryReserve("reserved", 200));
        Budget task = tenant.child("task", 500);
        Budget held = Objects.requireNonNull(tenant.tryReserve("held", 100));
        Budget[] budgets = {device, tenant, reserved, task, held};
        int[] parents = {-1, 0, 0, 1, 1};
        long[] own = new long[budgets.length];
        long[] pending = new long[budgets.length];
        long[] reservations = {0, 0, 200, 0, 100};
        boolean[] isClosed = new boolean[budgets.length];
        for (int step : steps) {
            int which = step % budgets.length;
            Budget budget = budgets[which];
            long byteSize = step / 10 % 300;
            switch (step / 10_000) {
                case 0, 1, 2, 3 -> {
                    if (!isClosed[which]) {
                        long before = budget.status().available();
                        boolean isGranted = budget.tryCharge(byteSize);
                        assertThat(isGranted).isEqualTo(byteSize <= before);
                        own[which] += isGranted ? byteSize : 0;
                    }
                }
                case 4, 5 -> {
                    boolean isReleased = isReleased(budget, byteSize);
                    assertThat(isReleased).isEqualTo(byteSize <= own[which] - pending[which]);
                    own[which] -= isReleased ? byteSize : 0;
                }
                case 6 -> {
                    boolean isPending = isDone(() -> budget.pend(byteSize));
                    assertThat(isPending).isEqualTo(byteSize <= own[which] - pending[which]);
                    pending[which] += isPending ? byteSize : 0;
                }
                case 7 -> {
                    boolean isReleased = isDone(() -> budget.releasePending(byteSize));
                    assertThat(isReleased).isEqualTo(byteSize <= pending[which]);
                    own[which] -= isReleased ? byteSize : 0;
                    pending[which] -= isReleased ? byteSize : 0;
                }
                case 8 -> {
                    if (which > 0 && !isClosed[which]) {
                        long charge = budget.status().charge();
                        long growth = Math.max(charge, byteSize) - Math.max(charge, reservations[which]);
                        long above = budgets[parents[which]].status().available();
                        boolean isGranted = budget.reserve(byteSize) == null;
                        assertThat(isGranted).isEqualTo(growth <= above);
                        reservations[which] = isGranted ? byteSize : reservations[which];
                    }
                }
                default -> {
                    if (which == 2 || which == 4) {
                        budget.close();
                        isClosed[which] = true;
                        reservations[which] = 0;
                    }
                }
            }
            long ofTask = Math.max(own[3], reservations[3]);
            long ofTenant = own[1] + ofTask + Math.max(own[4], reservations[4]);
            Budget.Status now = device.status();
            assertThat(tenant.status().charge()).isEqualTo(ofTenant).isLessThanOrEqualTo(700);
            assertThat(tenant.status().pending()).isEqualTo(pending[1] + pending[3] + pending[4]);
            assertThat(now.charge())
                    .isEqualTo(own[0] + Math.max(ofTenant, reservations[1]) + Math.max(own[2], reservations[2]))
                    .isLessThanOrEqualTo(1000);
            assertThat(now.pending()).isEqualTo(LongStream.of(pending).sum());
            assertThat(now.charge() + now.available()).isEqualTo(1000);
        }
    }

    @Test
    void aBudgetWithoutAParentHasNothingToSetAside() {
        assertThatThrownBy(() -> Budget.of("top", 10).reserve(1)).isInstanceOf(IllegalStateException.class);
    }

    private static BigInteger sum(long... numbers) {
        return LongStream.of(numbers).mapToObj(BigInteger::valueOf).reduce(BigInteger.ZERO, BigInteger::add);
    }

    /** What is available is charged to the last byte, and no byte more, up to the largest numbers. */
    @Test
    void everyLimitReservationAndChargeLeavesExactlyTheRest() {
        long[] boundaries = LongStream.of(0, 8, 31, 62, 63)
                .flatMap(bit -> LongStream.rangeClosed(-2, 1).map(by -> (1L << bit) + by))
                .filter(number -> number >= 0)
                .distinct()
                .toArray();
        for (long limit : boundaries) {
            for (long reservation : boundaries) {
                for (long charge : boundaries) {
                    Budget above = Budget.of("above", limit);
                    Budget child = above.child("child", Budget.UNLIMITED);
                    assertThat(child.reserve(reservation) == null).isEqualTo(reservation <= limit);
                    assertThat(child.tryCharge(charge)).isEqualTo(charge <= limit);
                    Budget other = above.child("other", limit);
                    boolean isOver = charge > limit;
                    long taken = Math.max(isOver ? 0 : charge, reservation <= limit ? reservation : 0);
                    assertThat(other.status().available()).isEqualTo(limit - taken);
                    long left = child.status().available();
                    assertThat(sum(left, isOver ? 0 : charge)).isEqualTo(BigInteger.valueOf(limit));
                    assertThat(left < Long.MAX_VALUE && child.tryCharge(left + 1))
                            .isFalse();
                    assertThat(child.tryCharge(left)).isTrue();
                    assertThat(child.tryCharge(1)).isFalse();
                    assertThat(above.status().charge()).isEqualTo(limit);
                }
            }
        }
    }
}
