package allocator.conformance.subject;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The live blocks of a test; checks that no two of them overlap. Thread-safe. */
public final class Blocks {
    private final NavigableMap<Long, Long> sizes = new TreeMap<>();

    /** Records an allocated block. Fails the test if its address is 0 or it overlaps a live block. */
    public synchronized void add(long address, long byteSize) {
        Expect.that(address != 0, "a request of %d bytes got address 0, which is the empty allocation", byteSize);
        final Map.Entry<Long, Long> below = sizes.lowerEntry(address + byteSize);
        Expect.that(
                below == null || below.getKey() + below.getValue() <= address,
                "%d bytes at %s were allocated while %s are live there: the two blocks overlap",
                byteSize,
                Expect.hex(address),
                below == null ? "" : below.getValue() + " bytes at " + Expect.hex(below.getKey()));
        sizes.put(address, byteSize);
    }

    /** Removes a block that is about to be freed. */
    public synchronized void remove(long address) {
        sizes.remove(address);
    }
}
