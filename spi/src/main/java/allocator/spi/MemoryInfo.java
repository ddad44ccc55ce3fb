package allocator.spi;

import java.io.Serializable;
import java.util.Objects;

/**
 * Describes the memory that an allocator serves, as ONNX Runtime's {@code OrtMemoryInfo} does.
 *
 * <p>Two infos describe the same memory if and only if their {@linkplain #location() locations} are equal. Every lookup
 * and replacement uses this rule (M-01). Name, alignment and allocator type describe how the memory is named and
 * allocated. Record equality compares all components; it is for tests and collections.
 *
 * @param name the provider's name for this memory, such as {@code Cuda} or {@code CudaPinned}; not blank, with white
 *     space or without
 * @param location the memory's location
 * @param byteAlignment the alignment of every block of this memory, in bytes; a power of two, at least 1
 * @param allocatorType the role of the allocator of this memory
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
     * {@return whether both describe the same memory (M-01): their locations are equal}
     *
     * @param other the info to compare with
     */
    public boolean isSameMemoryAs(MemoryInfo other) {
        return location.equals(other.location);
    }

    /** {@return the kind of the device: the location's device type} */
    public DeviceType deviceType() {
        return location.deviceType();
    }

    /** {@return the ordinal of the device, as in the location} */
    public int deviceOrdinal() {
        return location.deviceOrdinal();
    }

    /** {@return the kind of the memory: the location's memory type} */
    public MemoryType memoryType() {
        return location.memoryType();
    }

    /** {@return whether this memory is written once, then only read: its type is {@link AllocatorType#READ_ONLY}} */
    public boolean isReadOnly() {
        return allocatorType == AllocatorType.READ_ONLY;
    }

    /** {@return the name and the location, a short text for messages, such as {@code Cuda (gpu:0)}} */
    @Override
    public String toString() {
        return name + " (" + location + (isReadOnly() ? " read-only)" : ")");
    }
}
