package allocator.arena.compact;

/** Where memory is mapped in the range of a lane, for reports. Under the lane's lock. */
public final class MappedRanges {
    /** What {@link #pending} returns if no stream may use what is mapped; no stream has this id. */
    public static final long NO_STREAM = LastFrees.NO_STREAM;

    private static final long UNMAPPED = -2;

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
     * Returns which stream may still use the memory that is mapped at an address, through another mapping that was in
     * use before: it serves no other request until that stream is done, although nothing of it is live here.
     *
     * @param address an address at which memory {@linkplain #isMapped is mapped}
     * @return the id of the stream; {@link #NO_STREAM} for none, {@code 0} for several
     */
    public long pending(long address) {
        return table.extents.earlier.pending(table.mappings.extent(table.place(address)));
    }

    private long backing(long address) {
        return isMapped(address) ? pending(address) : UNMAPPED;
    }

    /**
     * Returns up to where a part of the range is mapped, or not mapped, as its first byte is, and to where the same
     * stream may still use it.
     *
     * @param address the first address
     * @param end the first address behind the part
     * @return an address behind the first, at most the end
     */
    public long sameMapping(long address, long end) {
        final long backing = backing(address);
        final long last = table.end(address);
        long next = Math.min(end, table.address(table.place(address) + 1));
        while (next < end && next < last && backing(next) == backing) {
            next = Math.min(end, table.address(table.place(next) + 1));
        }
        return next < end && backing == UNMAPPED && next >= last ? end : next;
    }
}
