package allocator.provider.support.event;

import allocator.spi.MemoryInfo;

/**
 * One of the recent events that {@link AllocatorEvents#recent} returns.
 *
 * @param kind what happened
 * @param nanosAgo how long ago, in nanoseconds; an allocation or a free has the time of one of the 16 events before it,
 *     and may be younger
 * @param owner the session, or another name of who made the request; empty for growth and shrink
 * @param memory the memory
 * @param address the address; {@code 0} for a failure
 * @param byteSize the bytes requested, taken or returned; {@code 0} for a free
 * @param stream the id of the stream of an allocation, {@code 0} for none
 */
public record RecentEvent(
        Kind kind, long nanosAgo, String owner, MemoryInfo memory, long address, long byteSize, long stream) {
    /** What happened. */
    public enum Kind {
        /** A block was allocated. */
        ALLOCATION,
        /** A block is about to be freed. */
        FREE,
        /** An arena has taken memory from its device. */
        GROWTH,
        /** An arena has returned memory to its device. */
        SHRINK,
        /** A request has failed. */
        FAILURE
    }
}
