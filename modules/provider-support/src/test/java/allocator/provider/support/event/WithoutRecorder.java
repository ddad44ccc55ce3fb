package allocator.provider.support.event;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;

/** Calls every method, in a JVM without {@code jdk.jfr}. */
public final class WithoutRecorder {
    private WithoutRecorder() {}

    /** Prints a line if nothing fails. */
    public static void main(String[] args) {
        AllocatorEvents.prepare();
        if (ModuleLayer.boot().findModule("jdk.jfr").isPresent() || AllocatorEvents.recordsAllocations()) {
            throw new IllegalStateException("there is a recorder");
        }
        final MemoryInfo memory = new MemoryInfo(
                "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);
        AllocatorEvents.sessionOpened("session");
        AllocatorEvents.allocated("session", memory, 1, 1, 0, false, "");
        AllocatorEvents.growing(memory, DevicePart.REGION, 1).end(true, 1);
        AllocatorEvents.shrinking(memory, DevicePart.REGION, 1).end(true, 1);
        AllocatorEvents.mapping(memory, 1, true).end(true, 1);
        AllocatorEvents.freeing("session", memory, 1);
        AllocatorEvents.failed("session", 1, new IllegalStateException(), "");
        AllocatorEvents.sessionClosed("session", () -> 0);
        System.out.print("no recorder, and nothing has failed\n");
    }
}
