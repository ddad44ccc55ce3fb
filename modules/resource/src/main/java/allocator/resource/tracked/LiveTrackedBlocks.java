package allocator.resource.tracked;

import allocator.provider.support.internal.LongTable;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The live blocks of a {@link TrackedMemory} by address. */
final class LiveTrackedBlocks {
    private final LongTable<TrackedBlock> blocks = new LongTable<>(true);

    /**
     * Puts a block at its address, unless one is there that is not freed. If it throws, nothing changes. Returns the
     * block that is there, {@code null} if the new one is.
     */
    synchronized @Nullable TrackedBlock put(TrackedBlock block) {
        final TrackedBlock there = get(block.address());
        if (there != null && !there.isFreed()) {
            return there;
        }
        blocks.expect();
        blocks.add(block.address(), block.byteSize(), block);
        return null;
    }

    /** Returns the block at an address, {@code null} if there is none. */
    synchronized @Nullable TrackedBlock get(long address) {
        final int slot = blocks.find(address);
        return slot < 0 ? null : blocks.attachment(slot);
    }

    /** Removes a block, unless another has taken its place. */
    @SuppressWarnings("ReferenceEquality") // another block may have the same address
    synchronized void remove(TrackedBlock block) {
        final int slot = blocks.find(block.address());
        if (slot >= 0 && blocks.attachment(slot) == block) {
            blocks.remove(slot);
        }
    }

    /** Returns the blocks, in no order. */
    synchronized List<TrackedBlock> all() {
        return Arrays.stream(blocks.addresses())
                .mapToObj(address -> blocks.attachment(blocks.find(address)))
                .toList();
    }
}
