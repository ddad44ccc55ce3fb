package allocator.spi;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A hardware device as one provider serves it, with up to three kinds of memory: the device's default memory,
 * host-accessible memory, and memory for read-only data.
 *
 * <p>Immutable, built by {@link #on}. A factory lists the same devices, with the same memories, in the same order on
 * every call (F-02).
 */
public final class EpDevice {
    private final HardwareDevice hardware;
    private final @Nullable MemoryInfo defaultMemory;
    private final @Nullable MemoryInfo hostAccessibleMemory;
    private final @Nullable MemoryInfo readOnlyMemory;

    private EpDevice(Builder builder) {
        hardware = builder.hardware;
        defaultMemory = builder.defaultMemory;
        hostAccessibleMemory = builder.hostAccessibleMemory;
        readOnlyMemory = builder.readOnlyMemory;
    }

    /**
     * {@return a builder of a device with empty slots}
     *
     * @param hardware the hardware
     */
    public static Builder on(HardwareDevice hardware) {
        return new Builder(hardware);
    }

    /** {@return the hardware} */
    public HardwareDevice hardware() {
        return hardware;
    }

    /** {@return the info of the device's default memory, or empty} */
    public Optional<MemoryInfo> defaultMemory() {
        return Optional.ofNullable(defaultMemory);
    }

    /** {@return the info of host memory that the device can reach, or empty} */
    public Optional<MemoryInfo> hostAccessibleMemory() {
        return Optional.ofNullable(hostAccessibleMemory);
    }

    /**
     * {@return the info of memory for data that is written once and then only read, or empty} The runtime shares no
     * allocator of it among sessions: each creates one, for which a provider may return an instance that it shares
     * (O-06).
     */
    public Optional<MemoryInfo> readOnlyMemory() {
        return Optional.ofNullable(readOnlyMemory);
    }

    /** {@return the infos of the memories in the order default, host-accessible, read-only; at most three} */
    public List<MemoryInfo> memoryInfos() {
        return Stream.of(defaultMemory, hostAccessibleMemory, readOnlyMemory)
                .filter(Objects::nonNull)
                .toList();
    }

    @Override
    public boolean equals(@Nullable Object object) {
        return object instanceof EpDevice other
                && hardware.equals(other.hardware)
                && memoryInfos().equals(other.memoryInfos());
    }

    @Override
    public int hashCode() {
        return Objects.hash(hardware, memoryInfos());
    }

    @Override
    public String toString() {
        final List<String> memory = new ArrayList<>();
        memoryInfos().forEach(info -> memory.add(info.toString()));
        return hardware.name() + " " + memory;
    }

    /** Builds an {@link EpDevice}. Not for use by several threads. */
    public static final class Builder {
        private final HardwareDevice hardware;
        private @Nullable MemoryInfo defaultMemory;
        private @Nullable MemoryInfo hostAccessibleMemory;
        private @Nullable MemoryInfo readOnlyMemory;

        private Builder(HardwareDevice hardware) {
            this.hardware = Objects.requireNonNull(hardware, "hardware");
        }

        /**
         * Adds a memory. Its slot is read-only by its allocator type, otherwise that of its memory type.
         *
         * @param info the memory; its type is {@link AllocatorType#DEVICE} or {@link AllocatorType#READ_ONLY}
         * @return this builder
         * @throws IllegalArgumentException if the slot is taken or the info has the reserved type
         *     {@link AllocatorType#ARENA}; the builder is unchanged
         */
        public Builder memory(MemoryInfo info) {
            switch (info.allocatorType()) {
                case READ_ONLY -> readOnlyMemory = fill(readOnlyMemory, info);
                case DEVICE -> {
                    if (info.memoryType() == MemoryType.DEFAULT) {
                        defaultMemory = fill(defaultMemory, info);
                    } else {
                        hostAccessibleMemory = fill(hostAccessibleMemory, info);
                    }
                }
                case ARENA ->
                    throw new IllegalArgumentException(info + " has the allocator type ARENA, which is reserved for the"
                            + " runtime; use DEVICE and keep the arena inside the allocator");
            }
            return this;
        }

        private static MemoryInfo fill(@Nullable MemoryInfo slot, MemoryInfo info) {
            if (slot != null) {
                throw new IllegalArgumentException(info + " needs the slot that " + slot + " has");
            }
            return info;
        }

        /** {@return the new device} */
        public EpDevice build() {
            return new EpDevice(this);
        }
    }
}
