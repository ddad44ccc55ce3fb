package allocator.runtime;

import allocator.runtime.discovery.Log;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;

/** A {@link ManagedAllocator} that can return unused memory to its device: ONNX Runtime's {@code IArena}. */
public final class ManagedArena {
    private final ManagedAllocator allocator;
    private final ShrinkableAllocator target;

    ManagedArena(ManagedAllocator allocator, ShrinkableAllocator target) {
        this.allocator = allocator;
        this.target = target;
    }

    /**
     * Returns the allocator of this arena.
     *
     * @return the allocator
     */
    public ManagedAllocator allocator() {
        return allocator;
    }

    /**
     * Returns the memory that the arena serves.
     *
     * @return the allocator's info
     */
    public MemoryInfo info() {
        return allocator.info();
    }

    /**
     * Returns unused memory to the device. May be called at any time, while other threads allocate and free. If several
     * sessions share the instance, all of it is shrunk. May block on the device.
     *
     * @return what was released and what is still held
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws allocator.spi.AllocatorClosedException if the owner is closed and its memory was released
     */
    public ShrinkReport shrink() {
        final ShrinkReport report = allocator.whileHeld("shrink", target::shrink);
        log(report);
        return report;
    }

    private void log(ShrinkReport report) {
        try {
            Log.debug("shrink of " + allocator + ": " + report);
        } catch (VirtualMachineError e) {
            // The memory has gone back, whether or not there is room for a message.
        }
    }

    /** Returns whether both shrink the same instance. */
    boolean isSameAs(ManagedArena other) {
        return allocator.isSameInstanceAs(other.allocator);
    }

    @Override
    public String toString() {
        return allocator.toString();
    }
}
