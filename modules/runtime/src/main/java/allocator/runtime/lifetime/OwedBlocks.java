package allocator.runtime.lifetime;

import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Blocks that nobody has an address of and whose free had no effect, to be freed again. */
public final class OwedBlocks {
    /** Linked. Guarded by this object. */
    private @Nullable Block first;

    /** Room for a block, made before it is allocated. */
    public static final class Block {
        private final LongConsumer free;
        private long address;
        private @Nullable Block next;

        /**
         * Makes room.
         *
         * @param free frees an address
         */
        public Block(LongConsumer free) {
            this.free = free;
        }
    }

    /** Starts without blocks. */
    public OwedBlocks() {}

    /**
     * Frees a block after a failure, which suppresses that of the free. What may be live still is freed again later.
     * Never throws.
     *
     * @param block room for it
     * @param address its address
     * @param failure the failure
     */
    public void freeAfter(Block block, long address, Throwable failure) {
        block.address = address;
        try {
            free(block);
        } catch (Throwable again) {
            Cleanup.suppress(failure, again);
        }
    }

    /**
     * Frees what is owed.
     *
     * @param cleanup receives the failures; what may be live still stays owed
     */
    public void freeAgain(Cleanup cleanup) {
        final Block all;
        synchronized (this) {
            all = first;
            first = null;
        }
        Block next;
        for (Block block = all; block != null; block = next) {
            next = block.next;
            try {
                free(block);
            } catch (Throwable e) {
                cleanup.add(e);
            }
        }
    }

    /** Frees a block; it is owed afterwards unless it is freed or was not live. */
    private void free(Block block) {
        boolean isGone = false;
        try {
            block.free.accept(block.address);
            isGone = true;
        } catch (DeviceException | InvalidFreeException e) {
            isGone = true; // dead, or not live
            throw e;
        } finally {
            if (!isGone) {
                add(block);
            }
        }
    }

    private synchronized void add(Block block) {
        block.next = first;
        first = block;
    }
}
