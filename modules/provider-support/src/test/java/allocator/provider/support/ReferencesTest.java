package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.References.Release;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class ReferencesTest {
    private final References<Nothing> references = new References<>();
    private final AtomicInteger made = new AtomicInteger();

    /** An allocator that is never called. */
    private static final class Nothing implements Allocator {
        @Override
        public long alloc(long byteSize) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void free(long address) {
            throw new UnsupportedOperationException();
        }

        @Override
        public MemoryInfo info() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int spiLevel() {
            throw new UnsupportedOperationException();
        }
    }

    private Nothing make() {
        made.incrementAndGet();
        return new Nothing();
    }

    @Nested
    class Shared {
        @Test
        void oneKeyIsOneAllocatorMadeOnce() {
            final Nothing first = references.acquireShared("key", ReferencesTest.this::make);
            assertThat(references.acquireShared("key", ReferencesTest.this::make))
                    .isSameAs(first);
            assertThat(references.acquireShared("other", ReferencesTest.this::make))
                    .isNotSameAs(first);
            assertThat(made).hasValue(2);
            assertThat(references.count()).isEqualTo(2);
        }

        @Test
        void theLastReleaseEndsIt() {
            final Nothing first = references.acquireShared("key", ReferencesTest.this::make);
            references.acquireShared("key", ReferencesTest.this::make);
            assertThat(references.release(first)).isEqualTo(Release.STILL_USED);
            assertThat(references.release(first)).isEqualTo(Release.LAST);
            assertThat(references.release(first)).isEqualTo(Release.UNKNOWN);
            assertThat(references.acquireShared("key", ReferencesTest.this::make))
                    .isNotSameAs(first);
        }
    }

    @Nested
    class Exclusive {
        @Test
        void everyAllocatorIsNewAndNeverShared() {
            final Nothing own = references.acquireExclusive(ReferencesTest.this::make);
            assertThat(references.acquireExclusive(ReferencesTest.this::make)).isNotSameAs(own);
            assertThat(references.all()).hasSize(2).contains(own);
            assertThat(references.release(own)).isEqualTo(Release.LAST);
            assertThat(references.all()).doesNotContain(own);
        }
    }

    @Test
    void aFailedMakerLeavesNothingBehind() {
        assertThatThrownBy(() -> references.acquireShared("key", () -> {
                    throw new IllegalStateException("no memory");
                }))
                .hasMessage("no memory");
        assertThat(references.count()).isZero();
        references.acquireShared("key", this::make);
        assertThat(made).hasValue(1);
    }
}
