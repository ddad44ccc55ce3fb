package allocator.arena.compact;

/** Where memory is mapped in the range of a lane, for reports. Under the lane's lock. */
public final class MappedRanges {
    private final PageTable table;

    /**
     * Reads a table.
     *
     * @param table the table of the lane's pages
     */
    public MappedRanges(PageTable table) {
        this.table = table;
    }

    /**
     * Returns whether memory is mapped at an address: the mapping through which its extent is used.
     *
     * @param address an address of the range
     * @return whether it is
     */
    public boolean isMapped(long address) {
        final int place = table.place(address);
        final int extent = table.mappings.extent(place);
        return extent != PageTable.NONE && table.extents.isCurrent(extent, place);
    }

    /**
     * Returns up to where a part of the range is mapped, or not mapped, as its first byte is.
     *
     * @param address the first address
     * @param end the first address behind the part
     * @return an address behind the first, at most the end
     */
    public long sameMapping(long address, long end) {
        final boolean isMapped = isMapped(address);
        final long last = table.end();
        long next = Math.min(end, table.address(table.place(address) + 1));
        while (next < end && next < last && isMapped(next) == isMapped) {
            next = Math.min(end, table.address(table.place(next) + 1));
        }
        return next < end && !isMapped && next >= last ? end : next;
    }
}
