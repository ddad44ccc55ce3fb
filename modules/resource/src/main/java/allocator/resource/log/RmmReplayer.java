package allocator.resource.log;

import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.TakenBackException;
import allocator.resource.log.RmmLog.Action;
import allocator.resource.log.RmmLog.Entry;
import allocator.resource.log.RmmLog.Replay;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Replays the entries of an RMM log on a resource, and counts. */
final class RmmReplayer {
    private final StreamOrderedMemoryResource resource;
    private final LongFunction<@Nullable SyncStream> streams;

    /** The live blocks, by their address in the log. */
    private final Map<Long, Block> live = new HashMap<>();

    private long allocations;
    private long failures;
    private long frees;
    private long unknownFrees;
    private long bytes;
    private long peakBytes;
    private long bytesAtEnd;

    /** A block, in the table before its memory is taken, so that nothing can come between the two. */
    private static final class Block {
        final long byteSize;
        long address;
        boolean isTaken;

        Block(long byteSize) {
            this.byteSize = byteSize;
        }
    }

    RmmReplayer(StreamOrderedMemoryResource resource, LongFunction<@Nullable SyncStream> streams) {
        this.resource = resource;
        this.streams = streams;
    }

    void replay(Entry entry) {
        if (entry.action() == Action.ALLOCATE_FAILURE) {
            failures++;
        } else if (entry.address() != 0) {
            if (entry.action() == Action.ALLOCATE) {
                allocate(entry);
            } else {
                free(entry);
            }
        } else if (entry.action() == Action.FREE) {
            unknownFrees++;
        }
    }

    private void allocate(Entry entry) {
        final SyncStream stream = streams.apply(entry.stream());
        // The log lacks the deallocation of the block that had this address before.
        deallocate(entry.address(), stream);
        final Block block = new Block(entry.byteSize());
        live.put(entry.address(), block);
        try {
            take(block, stream);
        } catch (OutOfMemoryException e) {
            failures++;
        } finally {
            if (!block.isTaken) {
                live.remove(entry.address());
            }
        }
        if (block.isTaken) {
            allocations++;
            bytes += block.byteSize;
            peakBytes = Math.max(peakBytes, bytes);
        }
    }

    private void take(Block block, @Nullable SyncStream stream) {
        final long byteAlignment = resource.memory().byteAlignment();
        block.address = stream == null
                ? resource.allocate(block.byteSize, byteAlignment)
                : resource.allocate(block.byteSize, byteAlignment, stream);
        block.isTaken = true;
    }

    private void free(Entry entry) {
        if (deallocate(entry.address(), streams.apply(entry.stream()))) {
            frees++;
        } else {
            unknownFrees++;
        }
    }

    /** Deallocates the block of an address of the log; returns whether there is one. */
    private boolean deallocate(long logged, @Nullable SyncStream stream) {
        final Block block = live.get(logged);
        if (block == null || !block.isTaken) {
            return false;
        }
        try {
            deallocate(block, stream);
        } catch (TakenBackException e) {
            remove(logged, block);
            throw e;
        }
        remove(logged, block);
        return true;
    }

    private void remove(long logged, Block block) {
        live.remove(logged);
        bytes -= block.byteSize;
    }

    private void deallocate(Block block, @Nullable SyncStream stream) {
        final long byteAlignment = resource.memory().byteAlignment();
        if (stream == null) {
            resource.deallocate(block.address, block.byteSize, byteAlignment);
        } else {
            resource.deallocate(block.address, block.byteSize, byteAlignment, stream);
        }
    }

    /**
     * Deallocates all live blocks, also those after one that cannot be deallocated, which is tried once more; throws
     * the first failure.
     */
    void end() {
        bytesAtEnd = bytes;
        @Nullable Throwable first = null;
        for (int round = 0; round < 2; round++) {
            for (final Block block : live.values()) {
                try {
                    end(block);
                } catch (RuntimeException | Error e) {
                    first = join(first, e);
                }
            }
        }
        live.clear();
        bytes = 0;
        if (first instanceof Error error) {
            throw error;
        }
        if (first instanceof RuntimeException failure) {
            throw failure;
        }
    }

    private void end(Block block) {
        if (!block.isTaken) {
            return;
        }
        try {
            deallocate(block, null);
        } catch (TakenBackException e) {
            block.isTaken = false;
            throw e;
        }
        block.isTaken = false;
    }

    /** Deallocates all live blocks after a failure; another one is added to it. */
    void endAfter(Throwable failure) {
        try {
            end();
        } catch (RuntimeException | Error e) {
            final Throwable ignored = join(failure, e);
        }
    }

    /** Adds a later failure to the first one, unless it is the same. */
    @SuppressWarnings("ReferenceEquality") // a throwable cannot suppress itself
    private static Throwable join(@Nullable Throwable first, Throwable later) {
        if (first == null) {
            return later;
        }
        if (first != later) {
            first.addSuppressed(later);
        }
        return first;
    }

    Replay result() {
        return new Replay(allocations, failures, frees, unknownFrees, peakBytes, bytesAtEnd);
    }
}
