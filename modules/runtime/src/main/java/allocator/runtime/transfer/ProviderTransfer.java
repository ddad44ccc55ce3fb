package allocator.runtime.transfer;

import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The copies of a provider.
 *
 * @param transfer copies
 * @param hasMemory whether a memory is the provider's: a stream of another one's device means nothing to it
 */
public record ProviderTransfer(String provider, DataTransfer transfer, Predicate<MemoryInfo> hasMemory) {
    boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return transfer.canCopy(source, target);
    }

    /** Copies in the order of a stream. If the stream is another provider's, waits for it and for the copy. */
    void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (stream == null || hasMemory.test(stream.memory())) {
            transfer.copy(source, target, stream);
        } else {
            stream.flush();
            transfer.copy(source, target, null);
        }
    }
}
