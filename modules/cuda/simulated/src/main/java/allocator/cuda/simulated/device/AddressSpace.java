package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * Addresses of a device. They lie above the 48 bits that a process can use, so no device address is a host address. The
 * address returned last is the first to be used again for the same size, as a real driver often does.
 */
final class AddressSpace {
    private static final int HOST_ADDRESS_BITS = 48;
    private static final int DEVICE_ADDRESS_BITS = 44;

    private final Map<Long, Deque<Long>> returned = new HashMap<>();
    private final long end;
    private long next;

    AddressSpace(int device) {
        next = (1L << HOST_ADDRESS_BITS) + ((long) device << DEVICE_ADDRESS_BITS);
        end = next + (1L << DEVICE_ADDRESS_BITS);
    }

    /** Sizes are multiples of the alignment that they need, so one alignment for each size is enough. */
    long take(long byteSize, long byteAlignment) {
        final Deque<Long> sameSize = returned.get(byteSize);
        if (sameSize != null && !sameSize.isEmpty() && sameSize.peek() % byteAlignment == 0) {
            return sameSize.pop();
        }
        final long address = Sizes.roundUp(next, byteAlignment);
        if (byteSize > end - address) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        next = address + byteSize;
        return address;
    }

    static boolean isDeviceAddress(long address) {
        return address >= 1L << HOST_ADDRESS_BITS;
    }

    void giveBack(long address, long byteSize) {
        returned.computeIfAbsent(byteSize, size -> new ArrayDeque<>()).push(address);
    }
}
