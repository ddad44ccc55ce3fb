package allocator.provider.support.internal;

import allocator.spi.DataTransfer;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryRange;
import allocator.spi.UnsupportedMemoryException;

/** Checks the arguments of a copy (D-03). */
public final class Copies {
    private Copies() {}

    /**
     * Rejects a copy that the transfer does not support, and one between ranges of different sizes.
     *
     * @throws UnsupportedMemoryException if {@link DataTransfer#canCopy} is false for the two memories
     * @throws InvalidSizeException if the ranges differ in size
     */
    public static void requireValid(DataTransfer transfer, MemoryRange source, MemoryRange target) {
        if (!transfer.canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("cannot copy from " + source.memory() + " to " + target.memory());
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(
                    target.byteSize(), "of the target is not the " + source.byteSize() + " of the source");
        }
    }
}
