package allocator.provider.support;

import allocator.spi.DeviceException;

/**
 * What a free throws whose block is dead although the device has not taken the memory back.
 *
 * <p>The contract allows a {@link DeviceException} only: a caller takes everything else for a free that has done
 * nothing, and repeats it.
 */
public final class FailedReturn {
    @SuppressWarnings("StaticAssignmentOfThrowable") // thrown where no other can be made
    private static final DeviceException NO_ROOM = new DeviceException(
            "the device failed to take memory back; there was no heap or no stack for the cause", null);

    private FailedReturn() {}

    /**
     * Loads what {@link #of} needs, since no class can be loaded where the stack has ended. Call it before the first
     * free.
     */
    public static void prepare() {
        // This class is initialized by the call, and the other one by that of its method.
        Failures.messageOf(NO_ROOM);
    }

    /**
     * Returns what to throw.
     *
     * @param thrown what the device threw
     * @return that itself if it is a device exception; otherwise one that has it as its cause
     */
    public static DeviceException of(Throwable thrown) {
        if (thrown instanceof DeviceException device) {
            return device;
        }
        try {
            return new DeviceException(Failures.messageOf(thrown), thrown);
        } catch (VirtualMachineError e) {
            return NO_ROOM;
        }
    }
}
