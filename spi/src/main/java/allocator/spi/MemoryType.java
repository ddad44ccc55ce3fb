package allocator.spi;

/** The kind of a device's memory. */
public enum MemoryType {
    /** The device's own memory: main memory for a CPU, device memory for a GPU. */
    DEFAULT,
    /** Host memory that the device can reach, such as pinned memory for a GPU. Its allocators may have segments. */
    HOST_ACCESSIBLE
}
