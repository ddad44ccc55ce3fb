package allocator.onnxruntime.block;

import java.util.function.LongPredicate;

/**
 * The blocks that ONNX Runtime has no more use of, but that the allocator beneath has not taken back yet, oldest first.
 *
 * <p>A block becomes owed where a call failed, possibly for want of heap or stack. So {@link #add} needs no heap, and
 * no more stack than {@link allocator.provider.support.StackReserve#touchShallow} before that call has touched.
 */
public final class OwedBlocks {
    private static final int INITIAL_PLACES = 64;

    /** A ring, a power of two long. */
    private long[] addresses = new long[INITIAL_PLACES];

    /** The charge of each block, {@link BlockSizes#NONE} if the block is still among the live ones, which know it. */
    private long[] sizes = new long[INITIAL_PLACES];

    private int first;
    private volatile int count;

    /** Creates a list without blocks. */
    public OwedBlocks() {}

    /** Returns how many blocks are owed. */
    public int count() {
        return count;
    }

    /**
     * Returns how many of them are still among the live ones. An address that is not live, and was added since there
     * was no stack to look it up, is no block.
     */
    public synchronized int live(LongPredicate isLive) {
        int live = 0;
        for (int i = 0; i < count; i++) {
            final int place = (first + i) & (addresses.length - 1);
            if (sizes[place] == BlockSizes.NONE && isLive.test(addresses[place])) {
                live++;
            }
        }
        return live;
    }

    /**
     * Makes room, so that half of the places are free, or gives places up that are not needed any more. If the heap has
     * none, the next call does.
     */
    public void makeRoom() {
        if (count != 0 || addresses.length > INITIAL_PLACES) {
            try {
                resize();
            } catch (OutOfMemoryError e) {
                // Half of the places were free before.
            }
        }
    }

    private synchronized void resize() {
        final int places = addresses.length;
        if (2 * count <= places && (places == INITIAL_PLACES || count > places / 16)) {
            return;
        }
        final int newPlaces = Math.max(INITIAL_PLACES, 4 * Integer.highestOneBit(count + 1));
        final long[] newAddresses = new long[newPlaces];
        final long[] newSizes = new long[newPlaces];
        for (int i = 0; i < count; i++) {
            newAddresses[i] = addresses[(first + i) & (places - 1)];
            newSizes[i] = sizes[(first + i) & (places - 1)];
        }
        addresses = newAddresses;
        sizes = newSizes;
        first = 0;
    }

    /** Returns for how many blocks there are places. */
    synchronized int places() {
        return addresses.length;
    }

    /**
     * Adds a block. If every place is taken, since {@link #makeRoom} found no heap for as many blocks as were added,
     * the block is lost.
     */
    public synchronized void add(long address, long byteSize) {
        if (count < addresses.length) {
            final int end = (first + count) & (addresses.length - 1);
            addresses[end] = address;
            sizes[end] = byteSize;
            count++;
        }
    }

    /** Removes the oldest block and stores its address and its charge. Returns whether there was one. */
    public synchronized boolean poll(long[] block) {
        if (count == 0) {
            return false;
        }
        block[0] = addresses[first];
        block[1] = sizes[first];
        first = (first + 1) & (addresses.length - 1);
        count--;
        return true;
    }
}
