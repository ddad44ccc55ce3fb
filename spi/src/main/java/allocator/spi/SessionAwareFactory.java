package allocator.spi;

/**
 * A factory that learns for which session an allocator is: the counterpart of ONNX Runtime's
 * {@code OrtEp::CreateAllocator}. A provider implements it to keep, count or name the memory of each session apart. For
 * all other factories, and for allocators of the environment, the runtime calls {@link #createAllocator}.
 */
public interface SessionAwareFactory extends EpFactory {
    /**
     * Creates the allocator of a memory for a session, or returns a further reference to one. Every rule of
     * {@link #createAllocator} holds, with the same exceptions; the reference is returned to {@link #releaseAllocator}.
     * Called once for each allocator that the session creates, those of read-only memory included, and not for those of
     * the environment that it uses. A provider that makes no difference for a memory returns
     * {@code createAllocator(info, options)}.
     *
     * @param info one of the infos of {@link #discoverDevices}
     * @param options the requested settings: those of the session, and the environment's where it has none
     * @param session the session's name in messages and reports. It does not identify the session: an application may
     *     give one name to several
     * @return the allocator, open and ready
     * @throws UnsupportedMemoryException as {@code createAllocator}
     * @throws InvalidOptionException if a key is unknown or a value is not accepted
     * @throws OutOfMemoryException if the device has no memory for it
     * @throws DeviceException if the driver fails otherwise
     * @throws AllocatorClosedException if this factory is closed
     */
    Allocator createSessionAllocator(MemoryInfo info, AllocatorOptions options, String session);
}
