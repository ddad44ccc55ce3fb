package allocator.spi;

import java.io.Serializable;
import java.util.Objects;

/**
 * Describes the memory that an allocator serves, as ONNX Runtime's {@code OrtMemoryInfo} does.
 *
 * <p>Two infos mean the same memory if and only if their {@linkplain #location() locations} are equal; that is the one
 * identity rule, used by every lookup and replacement (M-01). Name, alignment and allocator type say how the memory is
 * called and handed out, not where it is. Record equality compares all components and is for tests and collections.
 *
 * @param name the provider's name for this memory, such as {@code Cuda} or {@code CudaPinned}; not blank
 * @param location where the memory is
 * @param byteAlignment alignment in bytes that every allocation of this memory has; a power of two, at least 1
 * @param allocatorType what the allocator of this memory is to the runtime
 */
public record MemoryInfo(String name, MemoryLocation location, long byteAlignment, AllocatorType allocatorType)
        implements Serializable {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the name is blank or the alignment is not a power of two
     */
    public MemoryInfo {
        Objects.requireNonNull(location, "location");
        Objects.requireNonNull(allocatorType, "allocatorType");
        if (name.isBlank()) {
            throw new IllegalArgumentException("the name of a memory info is blank");
        }
        if (Long.bitCount(byteAlignment) != 1 || byteAlignment < 0) {
            throw new IllegalArgumentException(
                    "byteAlignment of " + name + " is " + byteAlignment + ", it must be a power of two");
        }
    }

    /**
     * The one identity rule: whether both describe the same memory (M-01).
     *
     * @param other the info to compare with
     * @return whether the locations are equal
     */
    public boolean isSameMemoryAs(MemoryInfo other) {
        return location.equals(other.location);
    }

    /**
     * The kind of the device.
     *
     * @return the location's device type
     */
    public DeviceType deviceType() {
        return location.deviceType();
    }

    /**
     * The number of the device.
     *
     * @return the location's ordinal
     */
    public int deviceOrdinal() {
        return location.deviceOrdinal();
    }

    /**
     * The kind of the memory.
     *
     * @return the location's memory type
     */
    public MemoryType memoryType() {
        return location.memoryType();
    }

    /**
     * Whether this memory is for data that is written once and then read.
     *
     * @return whether the allocator type is {@link AllocatorType#READ_ONLY}
     */
    public boolean isReadOnly() {
        return allocatorType == AllocatorType.READ_ONLY;
    }

    /**
     * A short text for messages, such as {@code Cuda (gpu:0)}.
     *
     * @return the name and where the memory is
     */
    @Override
    public String toString() {
        return name + " (" + location + (isReadOnly() ? " read-only)" : ")");
    }
}
