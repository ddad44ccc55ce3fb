package allocator.provider.support.event;

import allocator.provider.support.internal.Failures;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Locale;
import java.util.function.LongSupplier;

/** The events of {@link AllocatorEvents} in the flight recorder. Loaded only where there is one. */
final class FlightEvents {
    /** Never committed: whether an event is enabled is a question to an instance of its class. */
    private static final MemoryEvent.Allocation ALLOCATION = new MemoryEvent.Allocation();

    private static final MemoryEvent.Free FREE = new MemoryEvent.Free();
    private static final MemoryEvent.Growth GROWTH = new MemoryEvent.Growth();
    private static final MemoryEvent.Shrink SHRINK = new MemoryEvent.Shrink();
    private static final MemoryEvent.Mapping MAPPING = new MemoryEvent.Mapping();
    private static final MemoryEvent.Sleep SLEEP = new MemoryEvent.Sleep();
    private static final MemoryEvent.Unreturned UNRETURNED = new MemoryEvent.Unreturned();
    private static final MemoryEvent.Failure FAILURE = new MemoryEvent.Failure();
    private static final SessionEvent.Opened OPENED = new SessionEvent.Opened();
    private static final SessionEvent.Closed CLOSED = new SessionEvent.Closed();

    boolean recordsAllocations() {
        return ALLOCATION.isEnabled();
    }

    boolean recordsFrees() {
        return FREE.isEnabled();
    }

    void allocated(
            String owner, MemoryInfo memory, long address, long byteSize, long stream, boolean isReserve, String name) {
        try {
            if (ALLOCATION.isEnabled()) {
                final MemoryEvent.Allocation event = new MemoryEvent.Allocation();
                event.describe(memory);
                event.owner = owner;
                event.address = address;
                event.byteSize = byteSize;
                event.stream = stream;
                event.isReserve = isReserve;
                event.name = name;
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost; the caller has the memory.
        }
    }

    void freeing(String owner, MemoryInfo memory, long address) {
        try {
            if (FREE.isEnabled()) {
                final MemoryEvent.Free event = new MemoryEvent.Free();
                event.describe(memory);
                event.owner = owner;
                event.address = address;
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost.
        }
    }

    DeviceCall changing(boolean isGrowth, MemoryInfo memory, DevicePart part, long byteSize) {
        try {
            if (isGrowth ? GROWTH.isEnabled() : SHRINK.isEnabled()) {
                final MemoryEvent.OfPart event = isGrowth ? new MemoryEvent.Growth() : new MemoryEvent.Shrink();
                event.part = part.name().toLowerCase(Locale.ROOT);
                return begin(event, memory, byteSize);
            }
        } catch (Throwable e) {
            // The event is lost.
        }
        return DeviceCall.NOT_RECORDED;
    }

    DeviceCall sleeping(String session, MemoryInfo memory, long byteSize, boolean isSleep) {
        try {
            if (SLEEP.isEnabled()) {
                final MemoryEvent.Sleep event = new MemoryEvent.Sleep();
                event.owner = session;
                event.isSleep = isSleep;
                return begin(event, memory, byteSize);
            }
        } catch (Throwable e) {
            // The event is lost.
        }
        return DeviceCall.NOT_RECORDED;
    }

    DeviceCall mapping(MemoryInfo memory, long byteSize, boolean isMap) {
        try {
            if (MAPPING.isEnabled()) {
                final MemoryEvent.Mapping event = new MemoryEvent.Mapping();
                event.isMap = isMap;
                return begin(event, memory, byteSize);
            }
        } catch (Throwable e) {
            // The event is lost.
        }
        return DeviceCall.NOT_RECORDED;
    }

    private static DeviceCall begin(MemoryEvent.OfDevice event, MemoryInfo memory, long byteSize) {
        event.describe(memory);
        event.byteSize = byteSize;
        final DeviceCall call = new Recorded(event);
        event.begin();
        return call;
    }

    void failed(String owner, long byteSize, Throwable failure, String detail) {
        try {
            if (FAILURE.isEnabled()) {
                final MemoryEvent.Failure event = new MemoryEvent.Failure();
                event.owner = owner;
                event.requested = byteSize;
                event.reason = String.valueOf(failure.getMessage());
                event.detail = detail;
                if (failure instanceof OutOfMemoryException exhausted) {
                    fill(event, exhausted.shortage());
                }
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost: the caller is to see the failure.
        }
    }

    void unreturned(MemoryInfo memory, long address, long byteSize, Throwable failure) {
        try {
            if (UNRETURNED.isEnabled()) {
                final MemoryEvent.Unreturned event = new MemoryEvent.Unreturned();
                event.describe(memory);
                event.address = address;
                event.byteSize = byteSize;
                event.reason = Failures.messageOf(failure);
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost: the memory is in the books.
        }
    }

    /** Unknown figures are those that the recorder takes for missing as well. */
    private static void fill(MemoryEvent.Failure event, Shortage shortage) {
        event.describe(shortage.memory());
        event.rounded = shortage.rounded();
        event.limit = shortage.limit();
        event.inUse = shortage.inUse();
        event.held = shortage.held();
        event.largestFree = shortage.largestFree();
        event.deviceFree = shortage.deviceFree();
        event.limitedBy = shortage.limitedBy();
    }

    void sessionOpened(String session) {
        try {
            if (OPENED.isEnabled()) {
                final SessionEvent.Opened event = new SessionEvent.Opened();
                event.owner = session;
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost: the session is open.
        }
    }

    void sessionClosed(String session, LongSupplier liveBlocks) {
        try {
            if (CLOSED.isEnabled()) {
                final SessionEvent.Closed event = new SessionEvent.Closed();
                event.owner = session;
                event.liveBlocks = liveBlocks.getAsLong();
                event.commit();
            }
        } catch (Throwable e) {
            // The event is lost: the session is closed.
        }
    }

    private static final class Recorded extends DeviceCall {
        private final MemoryEvent.OfDevice event;

        Recorded(MemoryEvent.OfDevice event) {
            this.event = event;
        }

        @Override
        public void measured(long byteSize) {
            event.byteSize = byteSize;
        }

        @Override
        public void end(boolean isSuccess, long address) {
            try {
                event.end();
                event.isSuccess = isSuccess;
                event.address = address;
                event.commit();
            } catch (Throwable e) {
                // The event is lost: the device's memory comes first.
            }
        }
    }
}
