package allocator.cpu.reference;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Blocks that are mapped each by itself. The system counts neighbours as one mapping, so a block that is unmapped
 * between two others divides it. Where {@link Mappings} have no room for that, the block's memory goes back to the
 * system in place, and its addresses stay with this class: for the next blocks, or until they can be unmapped.
 */
final class MappedBlocks {
    private final Mappings mappings;
    private final Calls calls;

    /** What is mapped, as the system counts it: starts and ends, neighbours are one. */
    private final TreeMap<Long, Long> mapped = new TreeMap<>();

    /** The addresses within them that have no memory: starts and ends, neighbours are one. */
    private final TreeMap<Long, Long> unused = new TreeMap<>();

    MappedBlocks(Mappings mappings, Calls calls) {
        this.mappings = mappings;
        this.calls = calls;
    }

    /** The system's calls for anonymous memory. */
    interface Calls {
        /** Returns the address, or {@code 0} if the system has no memory, addresses or mappings. */
        long map(long byteSize);

        /** Returns whether the memory is unmapped. */
        boolean unmap(long address, long byteSize);

        /** Gives the memory at addresses back to the system, and keeps the addresses. */
        void discard(long address, long byteSize);
    }

    /** Returns the address of a block of whole pages; {@code 0} if there is no memory, or no mapping for it. */
    synchronized long allocate(long byteSize) {
        for (Map.Entry<Long, Long> one : unused.entrySet()) {
            final long start = one.getKey();
            if (one.getValue() - start >= byteSize) {
                remove(unused, start, start + byteSize);
                return start;
            }
        }
        if (!mappings.haveRoomFor(1)) {
            return 0;
        }
        final long address = calls.map(byteSize);
        if (address != 0) {
            final int before = mapped.size();
            boolean isNoted = false;
            try {
                add(mapped, address, address + byteSize);
                isNoted = true;
            } finally {
                if (!isNoted) { // the Java heap has ended
                    calls.unmap(address, byteSize);
                }
            }
            mappings.add(mapped.size() - before);
        }
        return address;
    }

    /** Gives a block back. */
    synchronized void free(long address, long byteSize) {
        add(unused, address, address + byteSize);
        final Map.Entry<Long, Long> whole = unused.floorEntry(address);
        if (!unmap(whole.getKey(), whole.getValue())) {
            calls.discard(address, byteSize);
        } else if (!unused.isEmpty() && mappings.haveAmpleRoom()) {
            unmap(unused.firstKey(), unused.firstEntry().getValue());
        }
    }

    /** Unmaps unused addresses, unless they divide a mapping and there is no room for one more. */
    private boolean unmap(long start, long end) {
        final Map.Entry<Long, Long> mapping = mapped.floorEntry(start);
        final boolean divides = mapping.getKey() < start && end < mapping.getValue();
        if ((divides && !mappings.haveRoomFor(1)) || !calls.unmap(start, end - start)) {
            return false;
        }
        final int before = mapped.size();
        remove(mapped, start, end);
        mappings.add(mapped.size() - before);
        unused.remove(start);
        return true;
    }

    private static void add(NavigableMap<Long, Long> ranges, long start, long end) {
        final Map.Entry<Long, Long> before = ranges.lowerEntry(start);
        final Long after = ranges.get(end);
        final boolean joins = before != null && before.getValue() == start;
        ranges.put(joins ? before.getKey() : start, after == null ? end : after); // alone needs Java heap
        if (after != null) {
            ranges.remove(end);
        }
    }

    private static void remove(NavigableMap<Long, Long> ranges, long start, long end) {
        final Map.Entry<Long, Long> whole = ranges.floorEntry(start);
        if (end < whole.getValue()) {
            ranges.put(end, whole.getValue());
        }
        if (whole.getKey() < start) {
            ranges.put(whole.getKey(), start);
        } else {
            ranges.remove(start);
        }
    }
}
