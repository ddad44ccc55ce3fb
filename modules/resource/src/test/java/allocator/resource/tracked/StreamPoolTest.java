package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.spi.MemoryInfo;
import allocator.testkit.FakeStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class StreamPoolTest {
    private final MemoryInfo memory = new FakeResource(0).memory();

    @Test
    void aPoolNeverHasMoreThanItsCapacityAndReusesStreams() {
        AtomicInteger created = new AtomicInteger();
        try (StreamPool pool = new StreamPool(2, () -> {
            created.incrementAndGet();
            return new FakeStream(memory);
        })) {
            var first = pool.acquire();
            var second = pool.acquire();
            assertThat(first).isNotSameAs(second);
            assertThatThrownBy(pool::acquire)
                    .isInstanceOfSatisfying(
                            StreamCapacityException.class,
                            e -> assertThat(e.capacity()).isEqualTo(2));
            assertThatThrownBy(pool::close).isInstanceOf(IllegalStateException.class);
            pool.release(first);
            assertThat(pool.acquire()).isSameAs(first);
            pool.release(first);
            pool.release(second);
            assertThatThrownBy(() -> pool.release(second)).isInstanceOf(IllegalArgumentException.class);
            assertThat(created).hasValue(2);
        }
        assertThatThrownBy(() -> new StreamPool(0, () -> new FakeStream(memory)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aStreamThatItsUserHasClosedLeavesThePool() {
        try (StreamPool pool = new StreamPool(1, () -> new FakeStream(memory))) {
            var stream = pool.acquire();
            stream.close();
            pool.release(stream);
            assertThat(pool.size()).isZero();
            assertThat(pool.acquire()).isNotSameAs(stream).satisfies(pool::release);
        }
    }

    @Test
    void aSupplierThatReturnsNullIsReportedAndCanBeRepeated() {
        AtomicInteger calls = new AtomicInteger();
        try (StreamPool pool = new StreamPool(1, () -> calls.incrementAndGet() == 1 ? null : new FakeStream(memory))) {
            assertThatThrownBy(pool::acquire)
                    .isInstanceOf(NullPointerException.class)
                    .hasMessageContaining("returned null");
            pool.release(pool.acquire());
        }
    }

    @Test
    void aSupplierCannotAcquireFromItsPool() {
        StreamPool[] self = new StreamPool[1];
        AtomicInteger calls = new AtomicInteger();
        self[0] = new StreamPool(1, () -> {
            if (calls.incrementAndGet() == 1) {
                self[0].acquire();
            }
            return new FakeStream(memory);
        });
        assertThatThrownBy(self[0]::acquire).isInstanceOf(IllegalStateException.class);
        self[0].release(self[0].acquire());
        self[0].close();
    }
}
