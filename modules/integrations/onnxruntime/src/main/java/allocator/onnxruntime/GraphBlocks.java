package allocator.onnxruntime;

import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * The blocks of one allocator that a captured graph uses. A graph has the addresses of its intermediate results, which
 * ONNX Runtime frees as usual: such a block stays allocated until the graph is released.
 *
 * <p>While the graph is captured, a freed block serves later requests of its size, as all work is on one stream. Of
 * ONNX Runtime's runs before the one that it captures, nothing stays. Safe for use by any thread.
 */
final class GraphBlocks {
    private final BooleanSupplier isCapturing;

    /** By address. Guarded by this. */
    private final Map<Long, Block> blocks = new HashMap<>();

    private boolean isRecording = true;

    private static final class Block {
        private final long byteSize;
        private boolean isCaptured;
        private boolean isFree;

        Block(long byteSize) {
            this.byteSize = byteSize;
        }
    }

    /**
     * Begins with the blocks that are allocated from here on.
     *
     * @param isCapturing returns whether the session's work is being captured
     */
    GraphBlocks(BooleanSupplier isCapturing) {
        this.isCapturing = isCapturing;
    }

    /** Returns a freed block of a size, which is used again; 0 if there is none. */
    synchronized long take(long byteSize) {
        if (isRecording) {
            for (final Map.Entry<Long, Block> entry : blocks.entrySet()) {
                final Block block = entry.getValue();
                if (block.isFree && block.byteSize == byteSize) {
                    final long address = entry.getKey();
                    block.isCaptured |= isCapturing.getAsBoolean();
                    block.isFree = false;
                    return address;
                }
            }
        }
        return 0;
    }

    /** Adds a block that was allocated. */
    synchronized void add(long address, long byteSize) {
        if (isRecording) {
            final Block block = new Block(byteSize);
            block.isCaptured = isCapturing.getAsBoolean();
            blocks.put(address, block);
        }
    }

    /** Frees a block. Returns whether it stays for the graph. */
    synchronized boolean free(long address) {
        final Block block = blocks.get(address);
        if (block == null) {
            return false;
        }
        block.isFree = true;
        return true;
    }

    /** Returns whether a block is the graph's: freed, and not returned. */
    synchronized boolean has(long address) {
        final Block block = blocks.get(address);
        return block != null && block.isFree;
    }

    /** Returns the bytes of the freed blocks that stay for the graph. */
    synchronized long bytes() {
        return blocks.values().stream()
                .filter(block -> block.isFree)
                .mapToLong(block -> block.byteSize)
                .sum();
    }

    /** Ends the capture: returns the freed blocks that are not of the graph. */
    synchronized void endCapture(LongConsumer release) {
        isRecording = false;
        end(false, release);
    }

    /** Releases the graph: returns all freed blocks, and forgets those that ONNX Runtime has. */
    synchronized void release(LongConsumer release) {
        isRecording = false;
        end(true, release);
    }

    private void end(boolean isReleased, LongConsumer release) {
        blocks.entrySet().removeIf(entry -> {
            final Block block = entry.getValue();
            if (block.isCaptured && !isReleased) {
                return false;
            }
            if (block.isFree) {
                release.accept(entry.getKey());
            }
            return true;
        });
    }
}
