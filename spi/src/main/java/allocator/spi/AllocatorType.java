package allocator.spi;

/** The role of an allocator for the runtime. */
public enum AllocatorType {
    /** Serves the memory of a device. The provider may use an arena inside. */
    DEVICE,
    /** Serves memory that is written once and then only read, such as initializers. */
    READ_ONLY,
    /**
     * An arena of the runtime itself. Reserved: the runtime rejects a factory whose allocator has this type, as ONNX
     * Runtime rejects {@code OrtArenaAllocator} from a plug-in (rule F-06).
     */
    ARENA
}
