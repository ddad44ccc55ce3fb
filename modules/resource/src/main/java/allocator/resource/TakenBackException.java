package allocator.resource;

import allocator.provider.support.Failures;
import allocator.spi.DeviceException;

/**
 * Thrown by a deallocation that has succeeded although the device failed: an allocator has taken the block back, and
 * itself tries to return the memory to its device again. The allocation is no longer live and must not be deallocated
 * again.
 */
public final class TakenBackException extends DeviceException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param cause the failure of the device
     */
    public TakenBackException(DeviceException cause) {
        super(Failures.messageOf(cause), cause);
    }
}
