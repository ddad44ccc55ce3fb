package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.References.Release;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
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

        /** A key whose hash code fails, as a record's may where the Java heap has ended. */
        private static final class Key {
            private boolean fails;

            @Override
            public boolean equals(Object other) {
                return other instanceof Key;
            }

            @Override
            public int hashCode() {
                if (fails) {
                    throw new OutOfMemoryError("simulated");
                }
                return 1;
            }
        }

        @Test
        void aReleaseWhoseKeyFailsChangesNothing() {
            final Key key = new Key();
            final Nothing allocator = references.acquireShared(key, ReferencesTest.this::make);
            key.fails = true;
            assertThatThrownBy(() -> references.release(allocator)).isInstanceOf(OutOfMemoryError.class);
            key.fails = false;
            assertThat(references.acquireShared(key, ReferencesTest.this::make)).isSameAs(allocator);
            assertThat(references.release(allocator)).isEqualTo(Release.STILL_USED);
            assertThat(references.release(allocator)).isEqualTo(Release.LAST);
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

    @Nested
    class EachOpenOne {
        private final Nothing one = references.acquireExclusive(ReferencesTest.this::make);
        private final Nothing other = references.acquireExclusive(ReferencesTest.this::make);

        @Test
        void mayBeClosedByAnotherThreadMeanwhile() {
            final List<Nothing> called = new ArrayList<>();
            references.forEachOpen(allocator -> {
                called.add(allocator);
                if (called.size() == 2) {
                    throw new AllocatorClosedException("closed");
                }
                references.release(allocator.equals(one) ? other : one);
            });
            assertThat(called).containsExactlyInAnyOrder(one, other);
        }

        @Test
        void isCalledWhateverAnotherThrows() {
            final List<Nothing> called = new ArrayList<>();
            assertThatThrownBy(() -> references.forEachOpen(allocator -> {
                        called.add(allocator);
                        throw new AssertionError("failure " + called.size());
                    }))
                    .hasMessage("failure 1")
                    .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
            assertThat(called).containsExactlyInAnyOrder(one, other);
        }

        @Test
        void isNotExpectedToBeClosedWhileItHasReferences() {
            assertThatThrownBy(() -> references.forEachOpen(allocator -> {
                        throw new AllocatorClosedException("closed");
                    }))
                    .isInstanceOf(AllocatorClosedException.class);
        }
    }

    /** An allocator that was made and cannot be entered would be lost. */
    @Test
    void roomIsMadeBeforeTheMakerIsCalled() {
        for (int i = 0; i < 1000; i++) {
            final Nothing allocator = references.acquireShared(i, this::make);
            assertThat(references.release(allocator)).isEqualTo(Release.LAST);
            references.acquireExclusive(this::make);
        }
        assertThat(references.count()).isEqualTo(1000);
        assertThat(references.all()).hasSize(1000);
    }
}
