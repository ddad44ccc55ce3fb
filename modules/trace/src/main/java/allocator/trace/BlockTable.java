package allocator.trace;

import java.util.Arrays;

/** The live blocks with ids, sizes and streams, each in a slot that is reused after the free. Not thread-safe. */
final class BlockTable {
    private long[] ids = new long[256];
    private long[] byteSizes = new long[256];
    private int[] streams = new int[256];

    /** Free slots, last freed first, so that the table does not grow beyond the peak of live blocks. */
    private int[] freed = new int[256];

    private int freedCount;
    private int slotCount;

    int add(long id, long byteSize, int stream) {
        final int slot = freedCount > 0 ? freed[--freedCount] : newSlot();
        ids[slot] = id;
        byteSizes[slot] = byteSize;
        streams[slot] = stream;
        return slot;
    }

    private int newSlot() {
        if (slotCount == ids.length) {
            final int capacity = Math.multiplyExact(2, slotCount);
            ids = Arrays.copyOf(ids, capacity);
            byteSizes = Arrays.copyOf(byteSizes, capacity);
            streams = Arrays.copyOf(streams, capacity);
            freed = Arrays.copyOf(freed, capacity);
        }
        return slotCount++;
    }

    void remove(int slot) {
        freed[freedCount++] = slot;
    }

    long id(int slot) {
        return ids[slot];
    }

    long byteSize(int slot) {
        return byteSizes[slot];
    }

    int stream(int slot) {
        return streams[slot];
    }

    /** Returns the peak number of live blocks. */
    int slotCount() {
        return slotCount;
    }
}
