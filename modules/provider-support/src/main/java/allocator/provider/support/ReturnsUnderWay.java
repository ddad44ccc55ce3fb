package allocator.provider.support;

/**
 * Memory that calls are giving back to a device at this moment. What the device hands out again before such a call has
 * ended, it has taken back, whatever the call throws: also if the memory has been freed again since.
 *
 * <p>Not safe for use by several threads. Every operation takes time logarithmic in the number of calls under way.
 */
public final class ReturnsUnderWay {
    /** The memory that was not handed out again. */
    private final LiveSizes sizes = new LiveSizes();

    /** The number of the latest return of each address. */
    private final LiveSizes latest = new LiveSizes();

    private long begun;
    private int count;

    /** Starts without returns. */
    public ReturnsUnderWay() {}

    /**
     * Makes room, so that the next calls of {@link #begin} cannot fail.
     *
     * @param more how many, not negative
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void ensureRoom(int more) {
        sizes.ensureRoom(more);
        latest.ensureRoom(more);
    }

    /**
     * Begins a return, for which there is room.
     *
     * @param address first byte
     * @param byteSize size in bytes, above zero
     * @return the number of the return, for {@link #end}
     */
    public long begin(long address, long byteSize) {
        begun++;
        count++;
        sizes.put(address, byteSize);
        latest.put(address, begun);
        return begun;
    }

    /**
     * Returns the number of the latest return of an address.
     *
     * @param address first byte of a return under way
     * @return what {@link #begin} returned
     */
    public long number(long address) {
        return latest.sizeOf(address);
    }

    /**
     * Records that the device has handed out memory. Takes nothing from the Java heap.
     *
     * @param address first byte
     * @param byteSize size in bytes, above zero
     * @return the bytes of the returns under way that overlap it
     */
    public long handedOut(long address, long byteSize) {
        return sizes.removeOverlapping(address, byteSize);
    }

    /**
     * Ends a return. Takes nothing from the Java heap.
     *
     * @param address first byte
     * @param number what {@link #begin} returned
     * @return true if none of the memory was handed out again meanwhile
     */
    public boolean end(long address, long number) {
        count--;
        if (number(address) != number) {
            return false;
        }
        latest.remove(address);
        return sizes.remove(address) != LiveSizes.NONE;
    }

    /**
     * Returns how many returns have begun and not ended.
     *
     * @return the number of calls under way
     */
    public int count() {
        return count;
    }

    /**
     * Returns the Java heap that the tables take.
     *
     * @return bytes, approximately
     */
    public long heapBytes() {
        return sizes.heapBytes() + latest.heapBytes();
    }
}
