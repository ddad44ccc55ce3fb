package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AlignedResourceTest {
    private final FakeResource addresses = new FakeResource(1L << 40);

    @Test
    void requestsTheUpstreamAlignsPassThrough() {
        MemoryResource aligned = new AlignedResource(addresses, 128);
        aligned.deallocate(aligned.allocate(100, 8), 100, 8);
        assertThat(addresses.calls).containsExactly("allocate 100 aligned 256", "deallocate 100 aligned 256");
    }

    @Test
    void aLargerAlignmentAddsTheDifferenceAsPadding() {
        MemoryResource aligned = new AlignedResource(addresses, 4096);
        long address = aligned.allocate(100, 8);
        assertThat(address % 4096).isZero();
        aligned.deallocate(address, 100, 8);
        assertThat(addresses.calls).containsExactly("allocate 3940 aligned 256", "deallocate 3940 aligned 256");
    }

    @ParameterizedTest
    @ValueSource(longs = {255, 768, 0, -4096})
    void onlyPowersOfTwoAreAccepted(long byteAlignment) {
        assertThatThrownBy(() -> new AlignedResource(addresses, byteAlignment))
                .isInstanceOf(InvalidAlignmentException.class);
    }

    @ParameterizedTest
    @ValueSource(longs = {8, 2048, 8192})
    void aDeallocationWithAnotherAlignmentChangesNothing(long byteAlignment) {
        MemoryResource aligned = new AlignedResource(addresses, 8);
        long address = aligned.allocate(100, 4096);
        assertThatThrownBy(() -> aligned.deallocate(address, 100, byteAlignment))
                .isInstanceOf(InvalidAlignmentException.class)
                .hasMessageContaining("4096");
        aligned.deallocate(address, 100, 4096);
        assertThat(addresses.calls).containsExactly("allocate 3940 aligned 256", "deallocate 3940 aligned 256");
    }

    @Nested
    class Statistics {
        private static final long MIB = 1 << 20;

        private final HookedStats hooked = new HookedStats(new AllocatorResource(ResourceAllocator.of(addresses)));
        private final MemoryResource aligned = new AlignedResource(hooked, 4096);

        private AllocatorStats stats() {
            return aligned.stats().orElseThrow();
        }

        @Test
        void requestsUnderWayNeverCountTheirPadding() {
            long live = aligned.allocate(MIB, 4096);
            List<Long> requested = new ArrayList<>();
            addresses.before(call -> requested.add(stats().requestedBytesInUse()));
            addresses.afterFree(() -> requested.add(stats().requestedBytesInUse()));
            aligned.deallocate(aligned.allocate(64, 4096), 64, 4096);
            assertThat(requested)
                    .hasSize(3)
                    .allSatisfy(bytes -> assertThat(bytes).isBetween(MIB - 4096, MIB + 64));
            assertThat(stats().requestedBytesInUse()).isEqualTo(MIB);
            addresses.before(call -> {}).afterFree(() -> {});
            aligned.deallocate(live, MIB, 4096);
            assertThat(stats().requestedBytesInUse()).isZero();
        }

        @Test
        void countersThatNeverRestAreNeverNegative() {
            hooked.after = this::allocateAgain;
            assertThat(stats().requestedBytesInUse()).isBetween(0L, stats().bytesInUse());
        }

        private void allocateAgain() {
            aligned.allocate(64, 4096);
            hooked.after = this::allocateAgain;
        }

        @Test
        void aCallThatFailsLeavesNoPadding() {
            long address = aligned.allocate(64, 4096);
            addresses.before(call -> {
                throw new IllegalStateException("planted");
            });
            assertThatThrownBy(() -> aligned.allocate(64, 4096)).isInstanceOf(IllegalStateException.class);
            addresses.before(call -> {});
            assertThat(stats().requestedBytesInUse()).isEqualTo(64);
            aligned.deallocate(address, 64, 4096);
            assertThat(stats().requestedBytesInUse()).isZero();
        }
    }

    /** An upstream whose one block begins 256 bytes after a multiple of all alignments, which is the worst place. */
    private static final class Worst implements MemoryResource {
        private static final long ADDRESS = (1L << 56) + 256;

        private long byteSize;

        @Override
        public MemoryInfo memory() {
            return new FakeResource(0).memory();
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long size, long byteAlignment) {
            byteSize = size;
            return ADDRESS;
        }

        @Override
        public void deallocate(long address, long size, long byteAlignment) {
            assertThat(address).isEqualTo(ADDRESS);
            assertThat(size).isEqualTo(byteSize);
        }
    }

    @Test
    void everyBlockIsAlignedWithinWhatTheUpstreamGaveOrRejectedIfItsPaddingOverflows() {
        Worst upstream = new Worst();
        MemoryResource aligned = new AlignedResource(upstream, 1);
        long[] sizes = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number > 0)
                .distinct()
                .toArray();
        for (long alignment = 512; alignment <= 1L << 56; alignment *= 8) {
            for (long boundary : sizes) {
                for (long size : new long[] {boundary, boundary - alignment + 256}) {
                    if (size <= 0) {
                        continue;
                    }
                    long address = 0;
                    try {
                        address = aligned.allocate(size, alignment);
                    } catch (InvalidSizeException e) {
                        // The padding overflows.
                    }
                    if (size > Long.MAX_VALUE - alignment + 256) {
                        assertThat(address).isZero();
                    } else {
                        assertThat(address % alignment).isZero();
                        assertThat(upstream.byteSize - size).isEqualTo(alignment - 256);
                        assertThat(address - Worst.ADDRESS).isBetween(0L, upstream.byteSize - size);
                        aligned.deallocate(address, size, alignment);
                    }
                }
            }
        }
    }
}
