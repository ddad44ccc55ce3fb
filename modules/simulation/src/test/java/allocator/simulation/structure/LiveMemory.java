package allocator.simulation.structure;

import java.util.Map;
import java.util.TreeMap;

/** The blocks that an allocator has handed out, none of which overlaps another. */
public final class LiveMemory {
    private final TreeMap<Long, Long> sizes = new TreeMap<>();
    private long bytes;

    /** Adds a block; throws an error if it overlaps one that is live. */
    public synchronized void add(long address, long byteSize) {
        final Map.Entry<Long, Long> below = sizes.lowerEntry(address + byteSize);
        if (below != null && below.getKey() + below.getValue() > address) {
            throw new AssertionError("0x" + Long.toHexString(address) + " was handed out twice");
        }
        sizes.put(address, byteSize);
        bytes += byteSize;
    }

    /** Removes and returns a block; 0 if there is none. */
    public synchronized long remove() {
        final Map.Entry<Long, Long> first = sizes.pollFirstEntry();
        if (first == null) {
            return 0;
        }
        bytes -= first.getValue();
        return first.getKey();
    }

    /** Returns the bytes that are live. */
    public synchronized long bytes() {
        return bytes;
    }
}
