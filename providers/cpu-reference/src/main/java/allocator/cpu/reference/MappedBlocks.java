package allocator.cpu.reference;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Blocks that are mapped each by itself. The system counts neighbours as one mapping, so a block that is unmapped
 * between two others divides it. Where {@link ProcessMappings} have no room for that, the block's memory goes back to
 * the system in place, and its addresses stay with this class: for the next blocks, or until they can be unmapped.
 */
final class MappedBlocks {
    private final ProcessMappings mappings;
    private final Calls calls;

    /** What is mapped, as the system counts it: starts and ends, neighbours are one. */
    private final TreeMap<Long, Long> mapped = new TreeMap<>();

    /** The addresses within them that have no memory: starts and ends, neighbours are one. */
    private final TreeMap<Long, Long> unused = new TreeMap<>();

    MappedBlocks(ProcessMappings mappings, Calls calls) {
        this.mappings = mappings;
        this.calls = calls;
    }

    /** The system's calls for anonymous memory. */
    interface Calls {
        /**
         * Returns the address: the one wished, not {@code 0}, if it is free; {@code 0} if the system has no memory,
         * addresses or mappings.
         */
        long map(long wish, long byteSize);

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
        final boolean hasRoom = mappings.haveRoomFor(1);
        final long hole = hasRoom ? 0 : hole(byteSize);
        if (!hasRoom && hole == 0) {
            return 0;
        }
        final long address = calls.map(hole, byteSize);
        if (!hasRoom && address != 0 && address != hole) { // another owner has the hole
            calls.unmap(address, byteSize);
            return 0;
        }
        if (address != 0) {
            final int before = mapped.size();
            try {
                add(mapped, address, address + byteSize);
            } catch (Throwable e) { // the Java heap has ended
                calls.unmap(address, byteSize);
                throw e;
            }
            mappings.add(mapped.size() - before);
        }
        return address;
    }

    /** Returns addresses between two mappings, which a block joins to one of them; {@code 0} if there are none. */
    private long hole(long byteSize) {
        long end = Long.MAX_VALUE;
        for (Map.Entry<Long, Long> one : mapped.entrySet()) {
            if (one.getKey() - byteSize >= end) {
                return end;
            }
            end = one.getValue();
        }
        return 0;
    }

    /** Gives a block back. If it throws, the block is still mapped, and not unused. */
    synchronized void free(long address, long byteSize) {
        if (!unused.isEmpty() && mappings.haveAmpleRoom()) {
            final Map.Entry<Long, Long> other = unused.firstEntry();
            unmap(other.getKey(), other.getValue(), other.getValue());
        }
        final long end = address + byteSize;
        final Map.Entry<Long, Long> before = unused.lowerEntry(address);
        final Long after = unused.get(end);
        final boolean joins = before != null && before.getValue() == address;
        if (unmap(joins ? before.getKey() : address, end, after == null ? end : after)) {
            return;
        }
        add(unused, address, end);
        try {
            calls.discard(address, byteSize);
        } catch (OutOfMemoryError | StackOverflowError e) {
            // The block is unused already. Its memory goes back when its addresses are unmapped.
        }
    }

    /**
     * Unmaps addresses of which nothing is in use, unless they divide a mapping and there is no room for one more.
     * After the system's call nothing needs Java heap, so what is unmapped is never among the unused.
     *
     * @param start where they start: unused, or a block
     * @param middle where a block ends, and unused addresses may start
     * @param end where they end
     */
    private boolean unmap(Long start, Long middle, long end) {
        final Map.Entry<Long, Long> mapping = mapped.floorEntry(start);
        final boolean divides = mapping.getKey() < start && end < mapping.getValue();
        if (divides && !mappings.haveRoomFor(1)) {
            return false;
        }
        final int before = mapped.size();
        remove(mapped, start, end);
        boolean isUnmapped = false;
        try {
            isUnmapped = calls.unmap(start, end - start);
        } finally {
            if (!isUnmapped) {
                add(mapped, start, end);
            }
        }
        if (isUnmapped) {
            unused.remove(start);
            unused.remove(middle);
            mappings.add(mapped.size() - before);
        }
        return isUnmapped;
    }

    /** Adds a range, or changes nothing: only the first step needs Java heap. */
    private static void add(NavigableMap<Long, Long> ranges, long start, Long end) {
        final Map.Entry<Long, Long> before = ranges.lowerEntry(start);
        final Long after = ranges.get(end);
        final boolean joins = before != null && before.getValue() == start;
        ranges.put(joins ? before.getKey() : Long.valueOf(start), after == null ? end : after);
        if (after != null) {
            ranges.remove(end);
        }
    }

    /** Removes a part of a range, or changes nothing: only the first step needs Java heap. */
    private static void remove(NavigableMap<Long, Long> ranges, Long start, Long end) {
        final Map.Entry<Long, Long> whole = ranges.floorEntry(start);
        if (end < whole.getValue()) {
            ranges.put(end, whole.getValue());
        }
        if (whole.getKey() < start) {
            ranges.put(whole.getKey(), start);
        } else {
            ranges.remove(whole.getKey());
        }
    }
}
