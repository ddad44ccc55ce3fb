package allocator.spi;

/** What kind of memory a device offers. */
public enum MemoryType {
    /** The device's own memory: main memory for a CPU, device memory for a GPU. */
    DEFAULT,
    /** Host memory that the device can reach as well, such as pinned memory for a GPU. */
    HOST_ACCESSIBLE
}
