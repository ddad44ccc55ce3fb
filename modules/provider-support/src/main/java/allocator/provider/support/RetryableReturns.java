package allocator.provider.support;

/**
 * Implemented by an allocator that keeps the memory that its device failed to take back, so that its user can try again
 * to return it.
 *
 * <p>A free that throws a {@link allocator.spi.DeviceException} has freed the block, although the device has not taken
 * its memory back. The block is dead, and its memory <em>unreturned</em>: held by the allocator and in use by
 * nobody. The allocator itself may return it later, by a shrink of its own for example, and then hand the address out
 * again. So a user that wants the memory back calls {@link #returnAgain}. A second free could free the block of another
 * user.
 *
 * <p>An arena whose upstream allocator implements this interface counts such memory as held, and tries again at its
 * next shrink and close. Otherwise the arena counts the memory as returned. A decorator that forwards frees may forward
 * this method as well; it need not.
 */
public interface RetryableReturns {
    /**
     * Tries again to return memory to the device that a free left unreturned. Never affects a live block. May be called
     * by several threads at once, and blocks as long as the device does.
     *
     * @param address what the allocation returned whose free threw a {@link allocator.spi.DeviceException}
     * @return true if this call has returned the memory; false if no unreturned memory starts there: it was returned
     *     before, or another thread is returning it. In both cases the caller has nothing left to do.
     * @throws allocator.spi.DeviceException if the device fails again; the memory is still unreturned, as it is after
     *     anything else that is thrown
     * @throws allocator.spi.AllocatorClosedException if the allocator is closed; its close returns the memory
     * @throws OutOfMemoryError if the Java heap has no room; the device is not called
     * @throws StackOverflowError if the thread's stack has little left; the device is not called
     */
    boolean returnAgain(long address);
}
