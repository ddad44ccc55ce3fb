package allocator.provider.support.event;

/**
 * A call of a device that is being recorded: from the method of {@link AllocatorEvents} that returned it until
 * {@link #end}. Belongs to the thread that makes the call.
 */
public abstract class DeviceCall {
    /** A call that no recording asks for. */
    static final DeviceCall NOT_RECORDED = new DeviceCall() {
        @Override
        public void measured(long byteSize) {}

        @Override
        public void end(boolean isSuccess, long address) {}
    };

    /** Only this package records. */
    DeviceCall() {}

    /**
     * Sets the size, where it is known only after the call. Never throws.
     *
     * @param byteSize size in bytes
     */
    public abstract void measured(long byteSize);

    /**
     * Ends the call, once. Never throws.
     *
     * @param isSuccess whether the device did what was requested
     * @param address the address of the memory, {@code 0} if there is none
     */
    public abstract void end(boolean isSuccess, long address);
}
