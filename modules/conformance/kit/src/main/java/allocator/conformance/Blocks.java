package allocator.conformance;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The live blocks of a test, none of which may overlap another. Safe for use by any thread. */
final class Blocks {
    private final NavigableMap<Long, Long> sizes = new TreeMap<>();

    /** Notes a block that was handed out. */
    synchronized void add(long address, long byteSize) {
        Expect.that(address != 0, "a request of %d bytes got address 0, which is the empty allocation", byteSize);
        final Map.Entry<Long, Long> below = sizes.lowerEntry(address + byteSize);
        Expect.that(
                below == null || below.getKey() + below.getValue() <= address,
                "%d bytes at %s were handed out while %s live there: the two blocks overlap",
                byteSize,
                Expect.hex(address),
                below == null ? "" : below.getValue() + " bytes at " + Expect.hex(below.getKey()));
        sizes.put(address, byteSize);
    }

    /** Forgets a block that is about to be freed. */
    synchronized void remove(long address) {
        sizes.remove(address);
    }
}
