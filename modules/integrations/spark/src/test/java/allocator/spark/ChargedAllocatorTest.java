package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.NamedProvider;
import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChargedAllocatorTest {
    private static final long LIMIT = 8 << 20;
    private static final int KIB = 1024;
    private static final int MIB = 1024 * KIB;

    private final LimitedMemory memory =
            LimitedMemory.open("executor", "cpu-reference", AllocatorOptions.EMPTY, NamedProvider::cpuMemory, LIMIT);
    private final Budget first = memory.budget().child("first", LIMIT / 2);
    private final Budget second = memory.budget().child("second", LIMIT);
    private final ChargedAllocator.OfHost ofFirst = new ChargedAllocator.OfHost(memory, () -> first);
    private final ChargedAllocator.OfHost ofSecond = new ChargedAllocator.OfHost(memory, () -> second);

    @AfterEach
    void everythingIsBack() {
        ofFirst.close();
        ofSecond.close();
        assertThat(memory.status().charge()).isZero();
        memory.close();
    }

    @Test
    void aTaskHasItsLimitToTheByte() {
        final long block = ofFirst.alloc(LIMIT / 2);
        assertThatThrownBy(() -> ofFirst.alloc(1))
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageContaining("The budget first cannot grant 1 bytes");
        ofFirst.free(block);
        assertThat(ofFirst.alloc(LIMIT / 2)).isNotZero();
        assertThat(memory.failures()).isOne();
    }

    @Test
    void tasksTogetherHaveTheLimitOfTheExecutor() {
        ofFirst.alloc(LIMIT / 4);
        final long most = ofSecond.alloc(LIMIT / 2);
        assertThatThrownBy(() -> ofSecond.alloc(LIMIT / 4 + 1)).isInstanceOf(OutOfMemoryException.class);
        assertThat(ofFirst.close()).isEqualTo(LIMIT / 4);
        ofSecond.free(most);
        assertThat(memory.held()).isLessThanOrEqualTo(LIMIT);
    }

    @Test
    void aTaskDoesNotFreeTheBlockOfAnother() {
        final long block = ofFirst.alloc(KIB);
        assertThatThrownBy(() -> ofSecond.free(block)).isInstanceOf(ForeignAddressException.class);
        assertThatThrownBy(() -> ofFirst.free(block + 1)).isInstanceOf(ForeignAddressException.class);
        ofFirst.free(block);
        assertThatThrownBy(() -> ofFirst.free(block)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void whatIsInvalidChargesNothing() {
        assertThatThrownBy(() -> ofFirst.alloc(-1)).isInstanceOf(InvalidSizeException.class);
        assertThat(ofFirst.alloc(0)).isZero();
        ofFirst.free(0);
        assertThat(first.status().charge()).isZero();
    }

    @Test
    void theEndFreesWhatIsLive() {
        ofFirst.alloc(3 * KIB);
        ofFirst.reserve(2 * KIB);
        assertThat(ofFirst.close()).isEqualTo(5 * KIB);
        assertThat(first.status().charge()).isZero();
        assertThatThrownBy(() -> ofFirst.alloc(1)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(() -> ofFirst.segment(0, 0)).isInstanceOf(AllocatorClosedException.class);
        assertThat(ofFirst.close()).isZero();
    }

    @Test
    void threadsThatGoOnAfterTheEndLeaveNothing() throws Exception {
        for (int round = 0; round < 200; round++) {
            final Budget budget = memory.budget().child("task", LIMIT);
            final ChargedAllocator.OfHost task = new ChargedAllocator.OfHost(memory, () -> budget);
            try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                final List<Future<?>> ends = new ArrayList<>();
                for (int i = 0; i < 2; i++) {
                    ends.add(threads.submit((Callable<Object>) () -> allocateUntilTheEnd(task)));
                }
                task.close();
                budget.close();
                for (final Future<?> end : ends) {
                    end.get();
                }
            }
            assertThat(budget.status().charge()).isZero();
        }
    }

    @Test
    void memoryThatIsHeldAndFreeIsReturnedForBlocksOfAnotherKind() {
        final List<Long> blocks = new ArrayList<>();
        for (int i = 0; i < LIMIT / MIB; i++) {
            blocks.add(ofSecond.alloc(MIB));
        }
        blocks.forEach(ofSecond::free);
        assertThat(memory.held()).isEqualTo(LIMIT);
        final long weights = ofSecond.reserve(2 * MIB);
        ofSecond.free(weights);
        ofSecond.free(ofSecond.alloc(LIMIT)); // one region, the first
        assertThat(ofSecond.reserve(2 * MIB)).isNotZero();
        assertThat(memory.failures()).isZero();
    }

    @Test
    void aRequestWithoutRoomNamesItsBudget() {
        assertThatThrownBy(() -> {
                    while (true) {
                        ofSecond.alloc(1); // takes more than it is charged
                    }
                })
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageStartingWith("The memory of executor/second has no room for 1 bytes [Cpu (cpu:0)");
        assertThat(second.status().charge()).isLessThan(LIMIT);
        assertThat(memory.failures()).isOne();
    }

    @Test
    void nothingIsHeldAfterTheClose() {
        final LimitedMemory other =
                LimitedMemory.open("other", "cpu-reference", AllocatorOptions.EMPTY, NamedProvider::cpuMemory, LIMIT);
        final long block = other.allocator().alloc(KIB);
        assertThat(other.held()).isPositive();
        other.allocator().free(block);
        other.close();
        assertThat(other.held()).isZero();
    }

    private static Object allocateUntilTheEnd(ChargedAllocator task) {
        try {
            while (true) {
                task.alloc(KIB);
            }
        } catch (AllocatorClosedException | OutOfMemoryException e) {
            return e;
        }
    }
}
