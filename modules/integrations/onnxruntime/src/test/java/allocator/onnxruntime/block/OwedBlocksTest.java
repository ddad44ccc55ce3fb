package allocator.onnxruntime.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class OwedBlocksTest {
    private final OwedBlocks owed = new OwedBlocks();
    private final long[] block = new long[2];

    @Test
    void theOldestIsFirstWhileTheRingGrows() {
        int added = 0;
        int polled = 0;
        for (int round = 0; round < 300; round++) {
            for (int i = 0; i < 3; i++) {
                owed.makeRoom();
                owed.add(++added, 10L * added);
            }
            assertTrue(owed.poll(block));
            polled++;
            assertArrayEquals(new long[] {polled, 10L * polled}, block);
        }
        assertEquals(600, owed.count());
        while (owed.poll(block)) {
            polled++;
            assertArrayEquals(new long[] {polled, 10L * polled}, block);
        }
        assertEquals(900, polled);
        assertEquals(0, owed.count());
        assertFalse(owed.poll(block));
    }

    @Test
    void thePlacesShrinkWhenBlocksWereTakenBack() {
        for (int i = 1; i <= 10_000; i++) {
            owed.makeRoom();
            owed.add(i, i);
        }
        assertTrue(owed.places() >= 10_000);
        for (int i = 1; i <= 10_000; i++) {
            owed.makeRoom();
            assertTrue(owed.poll(block));
            assertEquals(i, block[0]);
        }
        owed.makeRoom();
        assertEquals(64, owed.places());
    }

    @Test
    void aBlockWithoutAPlaceIsLostAndTheOthersStay() {
        for (int i = 1; i <= 65; i++) {
            owed.add(i, i);
        }
        assertEquals(64, owed.count());
        for (int i = 1; i <= 64; i++) {
            assertTrue(owed.poll(block));
            assertEquals(i, block[0]);
        }
    }

    @Test
    void anAddressThatWasNeverAllocatedIsNoBlock() {
        final BlockSizes blocks = new BlockSizes();
        blocks.put(64, 10);
        blocks.put(192, 10); // a live block now, but owed is an earlier one
        owed.add(64, BlockSizes.NONE);
        owed.add(128, BlockSizes.NONE);
        owed.add(192, 20);

        assertEquals(1, owed.live(blocks::contains));
    }
}
