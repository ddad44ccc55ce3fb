package allocator.view.recording;

/**
 * An allocation or a free in a recording.
 *
 * @param nanos when, in nanoseconds since 1970
 * @param memory the memory
 * @param address the block's address
 * @param byteSize the bytes requested; {@value #FREE} for a free
 * @param stream the id of the stream, {@code 0} for none
 * @param isReserve whether it was allocated by {@code reserve}
 * @param owner who made the call
 * @param site its name and the frame that allocated it, as those of a snapshot; empty if neither is known
 */
record BlockEvent(
        long nanos,
        RecordedMemory memory,
        long address,
        long byteSize,
        long stream,
        boolean isReserve,
        String owner,
        String site) {
    static final long FREE = -1;

    boolean isFree() {
        return byteSize == FREE;
    }

    /** What is unique among live blocks. */
    record Place(RecordedMemory memory, long address) {}

    Place place() {
        return new Place(memory, address);
    }
}
