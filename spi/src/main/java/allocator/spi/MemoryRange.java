package allocator.spi;

import java.util.Objects;

/**
 * A range of memory to copy.
 *
 * @param memory the memory
 * @param address the address of the first byte
 * @param byteSize the number of bytes, at least 0
 */
public record MemoryRange(MemoryInfo memory, long address, long byteSize) {
    /**
     * Checks the components.
     *
     * @throws InvalidSizeException if the size is negative
     * @throws IllegalArgumentException if the address is {@code 0} and the size is not
     */
    public MemoryRange {
        Objects.requireNonNull(memory, "memory");
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize != 0) {
            throw new IllegalArgumentException("the empty allocation has no " + byteSize + " bytes");
        }
    }
}
