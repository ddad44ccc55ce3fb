package allocator.spi;

import org.jspecify.annotations.Nullable;

/** Copies bytes between memories that a provider can reach. Safe for use by any thread. */
public interface DataTransfer {
    /**
     * Whether {@link #copy} works between two memories.
     *
     * @param source where from
     * @param target where to
     * @return whether it does
     */
    boolean canCopy(MemoryInfo source, MemoryInfo target);

    /**
     * Copies bytes.
     *
     * <p>With a stream, the copy is ordered on it and both ranges must stay valid until it is done (D-02); without one,
     * the bytes are there when this method returns.
     *
     * @param source what to copy
     * @param target where to; of the same size, and not overlapping {@code source}
     * @param stream the stream that orders the copy, or {@code null} to copy and wait
     * @throws UnsupportedMemoryException if {@link #canCopy} is {@code false} for the two memories
     * @throws InvalidSizeException if the sizes differ
     * @throws DeviceException if the driver fails; the bytes of {@code target} are then undefined
     */
    void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream);
}
