package allocator.provider.support.event;

import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Records events in the JDK Flight Recorder.
 *
 * <p>No method throws or blocks, and none allocates unless a recording has its event enabled. An event for which there
 * is no room on the Java heap or the stack is lost. All are safe for use by several threads.
 */
public final class AllocatorEvents {
    /** {@code null} if the runtime image has no flight recorder. */
    private static final @Nullable FlightEvents FLIGHT = load();

    private AllocatorEvents() {}

    private static @Nullable FlightEvents load() {
        try {
            return new FlightEvents();
        } catch (LinkageError | VirtualMachineError e) {
            return null; // jdk.jfr is not in the runtime image, or there was no room to load the events
        }
    }

    /**
     * Returns whether {@link #allocated} records anything, so that the caller need not collect its arguments. Takes a
     * fraction of a nanosecond.
     *
     * @return whether a recording has {@code allocator.Allocation} enabled
     */
    public static boolean recordsAllocations() {
        final FlightEvents flight = FLIGHT;
        return flight != null && flight.recordsAllocations();
    }

    /**
     * Returns whether {@link #freeing} records anything. Takes a fraction of a nanosecond.
     *
     * @return whether a recording has {@code allocator.Free} enabled
     */
    public static boolean recordsFrees() {
        final FlightEvents flight = FLIGHT;
        return flight != null && flight.recordsFrees();
    }

    /**
     * Records an allocation that succeeded.
     *
     * @param owner the session, or another name of who allocated
     * @param memory the memory
     * @param address the block's address
     * @param byteSize the bytes requested
     * @param stream the id of the stream that orders it, {@code 0} for none
     * @param isReserve whether it was allocated by {@code reserve}
     */
    public static void allocated(
            String owner, MemoryInfo memory, long address, long byteSize, long stream, boolean isReserve) {
        final FlightEvents flight = FLIGHT;
        if (flight != null) {
            flight.allocated(owner, memory, address, byteSize, stream, isReserve);
        }
    }

    /**
     * Records a free. To be called before the memory is returned, so that no other block has the address yet.
     *
     * @param owner the session, or another name of who frees
     * @param memory the memory
     * @param address the block's address
     */
    public static void freeing(String owner, MemoryInfo memory, long address) {
        final FlightEvents flight = FLIGHT;
        if (flight != null) {
            flight.freeing(owner, memory, address);
        }
    }

    /**
     * Begins to record a call that takes memory from a device.
     *
     * @param memory the memory
     * @param part what is taken
     * @param byteSize its size in bytes
     * @return the call, to be ended when it has returned
     */
    public static DeviceCall growing(MemoryInfo memory, DevicePart part, long byteSize) {
        final FlightEvents flight = FLIGHT;
        return flight == null ? DeviceCall.NOT_RECORDED : flight.growing(memory, part, byteSize);
    }

    /**
     * Begins to record a call that returns memory to a device.
     *
     * @param memory the memory
     * @param part what is returned
     * @param byteSize its size in bytes; {@code 0} if it is not known
     * @return the call, to be ended when it has returned
     */
    public static DeviceCall shrinking(MemoryInfo memory, DevicePart part, long byteSize) {
        final FlightEvents flight = FLIGHT;
        return flight == null ? DeviceCall.NOT_RECORDED : flight.shrinking(memory, part, byteSize);
    }

    /**
     * Begins to record a call that maps pages at an address, or ends such a mapping.
     *
     * @param memory the memory
     * @param byteSize the size of the pages in bytes
     * @param isMap {@code true} to map, {@code false} to end the mapping
     * @return the call, to be ended when it has returned
     */
    public static DeviceCall mapping(MemoryInfo memory, long byteSize, boolean isMap) {
        final FlightEvents flight = FLIGHT;
        return flight == null ? DeviceCall.NOT_RECORDED : flight.mapping(memory, byteSize, isMap);
    }

    /**
     * Records a request that failed.
     *
     * @param owner the session, or another name of who made the request
     * @param byteSize the bytes requested
     * @param failure what was thrown; the figures of an {@link OutOfMemoryException} are recorded
     * @param detail more text, such as a dump; may be empty
     */
    public static void failed(String owner, long byteSize, Throwable failure, String detail) {
        final FlightEvents flight = FLIGHT;
        if (flight != null) {
            flight.failed(owner, byteSize, failure, detail);
        }
    }

    /**
     * Records that a session was opened.
     *
     * @param session the session's name
     */
    public static void sessionOpened(String session) {
        final FlightEvents flight = FLIGHT;
        if (flight != null) {
            flight.sessionOpened(session);
        }
    }

    /**
     * Records that a session was closed.
     *
     * @param session the session's name
     * @param liveBlocks counts the live blocks of the session; called if the event is enabled
     */
    public static void sessionClosed(String session, LongSupplier liveBlocks) {
        final FlightEvents flight = FLIGHT;
        if (flight != null) {
            flight.sessionClosed(session, liveBlocks);
        }
    }
}
