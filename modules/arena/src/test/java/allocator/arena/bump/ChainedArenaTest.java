package allocator.arena.bump;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.arena.chunk.Boundaries;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.math.BigInteger;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What both bump arenas calculate. */
class ChainedArenaTest {
    private static final long BYTES = 1 << 16;

    private static final long[] ALL = Boundaries.within(Long.MIN_VALUE, Long.MAX_VALUE);

    @Test
    void anAlignmentIsAPowerOfTwoUpToTheLargest() {
        for (final long each : ALL) {
            final boolean isPower = BigInteger.valueOf(each).bitCount() == 1 && each > 0;
            assertEquals(isPower && each <= 1 << 30, ChainedArena.isAlignment(each), () -> "of " + each);
        }
    }

    /** So what is added for the alignment overflows nowhere. */
    @Test
    void aSizeIsRejectedIfItAndItsAlignmentExceedTheLargestNumber() {
        for (final long byteSize : ALL) {
            for (long byteAlignment = 1; byteAlignment > 0; byteAlignment *= 2) {
                boolean isAccepted = true;
                try {
                    ChainedArena.requireSize(byteSize, byteAlignment);
                } catch (InvalidSizeException e) {
                    isAccepted = false;
                }
                final BigInteger sum = BigInteger.valueOf(byteSize).add(BigInteger.valueOf(byteAlignment));
                assertEquals(byteSize >= 0 && sum.bitLength() < Long.SIZE, isAccepted, () -> "" + byteSize);
            }
        }
    }

    @Test
    void everyBlockIsAlignedWithinTheRegionAndBehindTheOneBefore() {
        final List<ChainedArena> arenas = List.of(
                new BumpArena(new FakeDevice(), BumpConfig.fixed(BYTES)),
                new SharedBumpArena(new FakeDevice(), BumpConfig.fixed(BYTES)));
        for (final ChainedArena arena : arenas) {
            final long base = arena.allocate(1, 1);
            for (final long byteSize : Boundaries.within(1, Long.MAX_VALUE)) {
                for (long alignment = 1; alignment <= BumpArena.MAX_BYTE_ALIGNMENT; alignment *= 8) {
                    arena.reset();
                    final long before = arena.allocate(3, 1) + 3;
                    final long start = (before + alignment - 1) / alignment * alignment;
                    final boolean fits = BigInteger.valueOf(start - base)
                                    .add(BigInteger.valueOf(byteSize))
                                    .compareTo(BigInteger.valueOf(BYTES))
                            <= 0;
                    long address = 0;
                    try {
                        address = arena.allocate(byteSize, alignment);
                    } catch (OutOfMemoryException | InvalidSizeException e) {
                        // It does not fit.
                    }
                    assertEquals(fits ? start : 0, address, byteSize + " bytes by " + alignment);
                }
            }
            arena.close();
        }
    }
}
