package exam.slab;

import java.util.Arrays;

/** Memory taken from the host in one piece: one large block, or a slab of slots of equal size. */
class Region {
    /** First byte; set once the host has handed the memory out. */
    long base;

    final long byteSize;

    Region(long byteSize) {
        this.byteSize = byteSize;
    }

    final boolean contains(long address) {
        return address >= base && address - base < byteSize;
    }
}

/** A region cut into slots, with a bit and the requested size for each. Used under the lock of its allocator. */
final class Slab extends Region {
    /** Mark of a slot that was used and freed. */
    private static final int FREED = -1;

    /** The sizes of slots, each a multiple of the alignment. */
    private static final int[] CLASSES = {
        64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768
    };

    final int index;
    final int slotBytes;
    final int slots;
    private final long[] used;
    private final int[] requested;

    /** Words before this one have no free slot. */
    private int firstWord;

    int live;

    /** Neighbours among the slabs of the class that have a free slot. */
    Slab previous;

    Slab next;
    boolean isListed;

    Slab(int index, long byteSize) {
        super(byteSize);
        this.index = index;
        slotBytes = CLASSES[index];
        slots = (int) (byteSize / slotBytes);
        used = new long[(slots + 63) / 64];
        requested = new int[slots];
        if (slots % 64 != 0) {
            used[used.length - 1] = -1L << slots % 64;
        }
    }

    static int classes() {
        return CLASSES.length;
    }

    static int slotBytesOf(int index) {
        return CLASSES[index];
    }

    /** Returns the index of the least class that is not less than a size, or -1 if none is large enough. */
    static int classOf(long byteSize) {
        if (byteSize > CLASSES[CLASSES.length - 1]) {
            return -1;
        }
        final int found = Arrays.binarySearch(CLASSES, (int) byteSize);
        return found >= 0 ? found : -found - 1;
    }

    boolean isFull() {
        return live == slots;
    }

    /** Takes a free slot, of which there is at least one, and returns its address. */
    long take(int byteSize) {
        int word = firstWord;
        while (used[word] == -1L) {
            word++;
        }
        firstWord = word;
        final int bit = Long.numberOfTrailingZeros(~used[word]);
        used[word] |= 1L << bit;
        final int slot = word * 64 + bit;
        requested[slot] = byteSize;
        live++;
        return base + (long) slot * slotBytes;
    }

    /** Returns the slot that an address lies in; {@link #slots} or more if it lies behind the last one. */
    int slotOf(long address) {
        return (int) ((address - base) / slotBytes);
    }

    boolean isStart(long address) {
        return (address - base) % slotBytes == 0;
    }

    boolean isLive(int slot) {
        return slot < slots && (used[slot / 64] & 1L << slot % 64) != 0;
    }

    boolean wasFreed(int slot) {
        return slot < slots && requested[slot] == FREED;
    }

    /** Gives a live slot back and returns the size that was requested. */
    int give(int slot) {
        final int byteSize = requested[slot];
        requested[slot] = FREED;
        used[slot / 64] &= ~(1L << slot % 64);
        firstWord = Math.min(firstWord, slot / 64);
        live--;
        return byteSize;
    }
}
