package allocator.spi;

/** What an allocator is to the runtime. */
public enum AllocatorType {
    /** Serves the memory of a device, with or without an arena inside; that is the provider's own affair. */
    DEVICE,
    /** Serves memory that is written once and then only read, such as initializers. */
    READ_ONLY,
    /**
     * An arena made by the runtime itself. Reserved: a factory whose allocator says so is refused, as ONNX Runtime
     * refuses {@code OrtArenaAllocator} from a plug-in (rule F-06).
     */
    ARENA
}
