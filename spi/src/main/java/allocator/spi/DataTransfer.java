package allocator.spi;

import org.jspecify.annotations.Nullable;

/** Copies bytes between memories that a provider can reach. Safe for use by any thread. */
public interface DataTransfer {
    /**
     * {@return whether {@link #copy} works from one memory to another} It may differ by direction, and work for memory
     * of the host that the factory does not list: of a CPU, or host-accessible (D-03).
     *
     * @param source the memory to copy from
     * @param target the memory to copy to
     */
    boolean canCopy(MemoryInfo source, MemoryInfo target);

    /**
     * Copies bytes.
     *
     * <p>With a stream, the copy is ordered on it: it reads its source, memory of the host included, when the work
     * before it is done. Both ranges must stay valid until it is complete (D-02). Without one, the copy is complete
     * when this method returns.
     *
     * @param source the bytes to copy
     * @param target where to copy them; of the same size, and not overlapping {@code source}
     * @param stream the stream that orders the copy, or {@code null} to copy and wait
     * @throws UnsupportedMemoryException if {@link #canCopy} is {@code false} for the two memories
     * @throws InvalidSizeException if the sizes differ
     * @throws DeviceException if the driver fails; the bytes of {@code target} are undefined
     */
    void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream);
}
