package allocator.runtime;

import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;

/** A {@link ManagedAllocator} whose unused memory can be given back, as ONNX Runtime's {@code IArena}. */
public final class ManagedArena {
    private final ManagedAllocator allocator;
    private final ShrinkableAllocator target;

    ManagedArena(ManagedAllocator allocator, ShrinkableAllocator target) {
        this.allocator = allocator;
        this.target = target;
    }

    /**
     * The same memory for allocating.
     *
     * @return the allocator that this is the arena of
     */
    public ManagedAllocator allocator() {
        return allocator;
    }

    /**
     * The memory that the arena serves.
     *
     * @return the allocator's info
     */
    public MemoryInfo info() {
        return allocator.info();
    }

    /**
     * Returns unused memory to the device, at any time, while others allocate and free. Where several sessions share an
     * instance, all of it is shrunk. May block on the device.
     *
     * @return what went back and what stays
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws allocator.spi.AllocatorClosedException if the owner is closed and its memory is back
     */
    public ShrinkReport shrink() {
        final ShrinkReport report = allocator.whileHeld("shrink", target::shrink);
        Log.info("shrink of " + allocator + ": " + report.bytesReleased() + " bytes in " + report.regionsReleased()
                + " regions returned, " + report.bytesHeld() + " bytes held");
        return report;
    }

    /** Whether both shrink the same instance. */
    boolean isSameAs(ManagedArena other) {
        return allocator.isSameInstanceAs(other.allocator);
    }

    @Override
    public String toString() {
        return allocator.toString();
    }
}
