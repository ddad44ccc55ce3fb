package allocator.provider.support.event;

import allocator.provider.support.event.RecentEvent.Kind;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Records events in the JDK Flight Recorder, and on request remembers the latest ones.
 *
 * <p>What reports an event neither throws nor blocks, and allocates nothing unless a recording has the event enabled.
 * An event for which there is no room on the Java heap is lost. The events are loaded by {@link #prepare}. All methods
 * are safe for use by several threads.
 */
public final class AllocatorEvents {
    /** The most events that are remembered: they take some 60 bytes each. */
    public static final int MOST_RECENT = 1 << 22;

    /** {@code null} until {@link #prepare}, and if the runtime image has no flight recorder. */
    private static @Nullable FlightEvents flight;

    private static boolean isWithoutRecorder;

    /** The recent events, while they are remembered. */
    private static volatile @Nullable EventRing ring;

    /** The calls of {@link #remember} without one of {@link #forget}. Guarded by the class. */
    private static int ringUsers;

    private AllocatorEvents() {}

    /**
     * Loads the events, if that has not been done: before, no event reaches the flight recorder. To be called by the
     * constructor of whatever records events. The first call blocks for some milliseconds.
     */
    public static void prepare() {
        if (flight == null && !isWithoutRecorder) {
            load();
        }
    }

    private static synchronized void load() {
        if (flight == null && !isWithoutRecorder) {
            try {
                flight = new FlightEvents();
            } catch (LinkageError e) {
                isWithoutRecorder = true; // jdk.jfr is not in the runtime image
            }
        }
    }

    /**
     * {@return whether events are remembered or a recording has {@code allocator.Allocation} enabled; otherwise the
     * caller need not collect the arguments of {@link #allocated}} Takes a fraction of a nanosecond.
     */
    public static boolean recordsAllocations() {
        final FlightEvents events = flight;
        return ring != null || (events != null && events.recordsAllocations());
    }

    /**
     * {@return whether events are remembered or a recording has {@code allocator.Free} enabled; otherwise
     * {@link #freeing} records nothing} Takes a fraction of a nanosecond.
     */
    public static boolean recordsFrees() {
        final FlightEvents events = flight;
        return ring != null || (events != null && events.recordsFrees());
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
     * @param name what it is for, such as an operator of a model; empty if that is not known
     */
    public static void allocated(
            String owner, MemoryInfo memory, long address, long byteSize, long stream, boolean isReserve, String name) {
        final EventRing recent = ring;
        if (recent != null) {
            recent.add(Kind.ALLOCATION, owner, memory, address, byteSize, stream);
        }
        final FlightEvents events = flight;
        if (events != null) {
            events.allocated(owner, memory, address, byteSize, stream, isReserve, name);
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
        final EventRing recent = ring;
        if (recent != null) {
            recent.add(Kind.FREE, owner, memory, address, 0, 0);
        }
        final FlightEvents events = flight;
        if (events != null) {
            events.freeing(owner, memory, address);
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
        return changing(Kind.GROWTH, memory, part, byteSize);
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
        return changing(Kind.SHRINK, memory, part, byteSize);
    }

    /** Returns the call, to be remembered as well. */
    private static DeviceCall changing(Kind kind, MemoryInfo memory, DevicePart part, long byteSize) {
        final FlightEvents events = flight;
        final DeviceCall call =
                events == null ? DeviceCall.NOT_RECORDED : events.changing(kind == Kind.GROWTH, memory, part, byteSize);
        final EventRing recent = ring;
        try {
            return recent == null ? call : new RememberedCall(call, recent, kind, memory, byteSize);
        } catch (OutOfMemoryError e) {
            return call; // the event is not among the recent ones
        }
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
        final FlightEvents events = flight;
        return events == null ? DeviceCall.NOT_RECORDED : events.mapping(memory, byteSize, isMap);
    }

    /**
     * Begins to record that a session falls asleep, so that its weights go to memory of the host, or wakes.
     *
     * @param session the session's name
     * @param memory the memory of the device
     * @param byteSize the size of the weights in bytes
     * @param isSleep {@code true} if it falls asleep, {@code false} if it wakes
     * @return the call, to be ended when it has returned
     */
    public static DeviceCall sleeping(String session, MemoryInfo memory, long byteSize, boolean isSleep) {
        final FlightEvents events = flight;
        return events == null ? DeviceCall.NOT_RECORDED : events.sleeping(session, memory, byteSize, isSleep);
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
        final EventRing recent = ring;
        if (recent != null && failure instanceof OutOfMemoryException exhausted) {
            recent.add(Kind.FAILURE, owner, exhausted.shortage().memory(), 0, byteSize, 0);
        }
        final FlightEvents events = flight;
        if (events != null) {
            events.failed(owner, byteSize, failure, detail);
        }
    }

    /**
     * Records that a device failed to take memory back.
     *
     * @param memory the memory
     * @param address its first byte
     * @param byteSize its size in bytes
     * @param failure what the device threw
     */
    public static void unreturned(MemoryInfo memory, long address, long byteSize, Throwable failure) {
        final FlightEvents events = flight;
        if (events != null) {
            events.unreturned(memory, address, byteSize, failure);
        }
    }

    /**
     * Records that a session was opened.
     *
     * @param session the session's name
     */
    public static void sessionOpened(String session) {
        final FlightEvents events = flight;
        if (events != null) {
            events.sessionOpened(session);
        }
    }

    /**
     * Records that a session was closed.
     *
     * @param session the session's name
     * @param liveBlocks counts the live blocks of the session; called if the event is enabled
     */
    public static void sessionClosed(String session, LongSupplier liveBlocks) {
        final FlightEvents events = flight;
        if (events != null) {
            events.sessionClosed(session, liveBlocks);
        }
    }

    /**
     * Begins to remember the latest events of this process, all but mappings and those of sessions. A pair of an
     * allocation and a free then takes some ten nanoseconds more. Each call is to be followed by one of
     * {@link #forget}.
     *
     * @param count how many; rounded up to a power of two. If events are remembered already, their number stays
     * @throws IllegalArgumentException if the count is below 1 or above {@value #MOST_RECENT}
     */
    public static synchronized void remember(int count) {
        if (count < 1 || count > MOST_RECENT) {
            throw new IllegalArgumentException(count + " events to remember: it must be from 1 to " + MOST_RECENT);
        }
        if (ring == null) {
            ring = new EventRing(Math.max(1, Integer.highestOneBit(count - 1) << 1));
        }
        ringUsers++;
    }

    /** Ends what a call of {@link #remember} has begun; the last one forgets the events. */
    public static synchronized void forget() {
        if (ringUsers > 0 && --ringUsers == 0) {
            ring = null;
        }
    }

    /** {@return this process's latest events, oldest first; empty unless {@linkplain #remember remembered}} */
    public static List<RecentEvent> recent() {
        final EventRing recent = ring;
        return recent == null ? List.of() : recent.copy();
    }
}
