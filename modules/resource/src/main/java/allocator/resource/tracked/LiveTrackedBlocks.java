package allocator.resource.tracked;

import allocator.resource.base.AddressTable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The live blocks of a {@link TrackedMemory} by address. Takes little heap once few blocks are live. */
final class LiveTrackedBlocks {
    private final AddressTable<TrackedBlock> blocks = new AddressTable<>();

    /**
     * Puts a block at its address, unless one is there that is not freed. If it throws, nothing changes.
     *
     * @return the block that is there, {@code null} if the new one is
     */
    @Nullable
    TrackedBlock put(TrackedBlock block) {
        final TrackedBlock there = get(block.address());
        if (there != null && !there.isFreed()) {
            return there;
        }
        blocks.lock.lock();
        try {
            blocks.ensureRoom();
            blocks.add(block.address(), block.byteSize(), block);
            blocks.lock.unlock();
        } catch (Throwable e) {
            blocks.lock.held = 0;
            throw e;
        }
        return null;
    }

    /** Returns the block at an address, {@code null} if there is none. */
    @Nullable
    TrackedBlock get(long address) {
        TrackedBlock block = null;
        blocks.lock.lock();
        try {
            final int slot = blocks.find(address);
            block = slot < 0 ? null : blocks.attachment(slot);
            blocks.lock.unlock();
        } catch (Throwable e) {
            blocks.lock.held = 0;
            throw e;
        }
        return block;
    }

    /** Removes a block, unless another has taken its place. */
    @SuppressWarnings("ReferenceEquality") // another block may have the same address
    void remove(TrackedBlock block) {
        blocks.lock.lock();
        try {
            final int slot = blocks.find(block.address());
            if (slot >= 0 && blocks.attachment(slot) == block) {
                blocks.remove(slot);
                blocks.shrinkIfSparse();
            }
            blocks.lock.unlock();
        } catch (Throwable e) {
            blocks.lock.held = 0;
            throw e;
        }
    }

    /** Returns the blocks, in no order. */
    List<TrackedBlock> all() {
        final List<TrackedBlock> all = new ArrayList<>();
        blocks.lock.lock();
        try {
            for (long address : blocks.addresses()) {
                final TrackedBlock block = blocks.attachment(blocks.find(address));
                if (block != null) {
                    all.add(block);
                }
            }
            blocks.lock.unlock();
        } catch (Throwable e) {
            blocks.lock.held = 0;
            throw e;
        }
        return all;
    }

    /** Returns how many blocks there is room for. */
    int capacity() {
        blocks.lock.lock();
        final int capacity = blocks.capacity();
        blocks.lock.unlock();
        return capacity;
    }
}
