package allocator.resource.log;

import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * A log of events of the JDK Flight Recorder: {@code allocator.Allocation} and {@code allocator.Free}, as a session of
 * the runtime has them. They are off unless a recording enables them; then a call costs some hundred nanoseconds.
 */
public final class EventLog implements ResourceLog {
    private final String owner;
    private final MemoryInfo memory;

    /**
     * Creates a log.
     *
     * @param owner the name of the user of the memory, for the events
     * @param memory the memory of the resource that is logged
     */
    public EventLog(String owner, MemoryInfo memory) {
        AllocatorEvents.prepare();
        this.owner = owner;
        this.memory = memory;
    }

    @Override
    public void allocated(long address, long byteSize, @Nullable SyncStream stream) {
        if (address != 0 && AllocatorEvents.recordsAllocations()) {
            AllocatorEvents.allocated(owner, memory, address, byteSize, stream == null ? 0 : stream.id(), false, "");
        }
    }

    /** Records nothing: the event of a failure has figures of the exception, which a log does not get. */
    @Override
    public void failed(long byteSize, @Nullable SyncStream stream) {}

    @Override
    public void freed(long address, long byteSize, @Nullable SyncStream stream) {
        if (address != 0 && AllocatorEvents.recordsFrees()) {
            AllocatorEvents.freeing(owner, memory, address);
        }
    }

    /**
     * {@return how many records could not be written: always {@code 0}, since the recorder does not report an event
     * that it has lost}
     */
    @Override
    public long droppedRecords() {
        return 0;
    }
}
