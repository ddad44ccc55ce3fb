package allocator.resource.log;

import allocator.provider.support.internal.Failures;
import allocator.resource.StreamOrderedMemoryResource;
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
        deallocate(block, stream);
        live.remove(logged);
        bytes -= block.byteSize;
        return true;
    }

    private void deallocate(Block block, @Nullable SyncStream stream) {
        final long byteAlignment = resource.memory().byteAlignment();
        if (stream == null) {
            resource.deallocate(block.address, block.byteSize, byteAlignment);
        } else {
            resource.deallocate(block.address, block.byteSize, byteAlignment, stream);
        }
    }

    /** Deallocates all live blocks, also those after one that the resource rejects; throws the first failure. */
    void end() {
        final Failures failures = new Failures();
        end(failures);
        failures.throwIfAny();
    }

    /** Deallocates all live blocks after a failure, to which others are added. */
    void endAfter(Throwable failure) {
        final Failures failures = new Failures();
        failures.add(failure);
        end(failures);
    }

    private void end(Failures failures) {
        bytesAtEnd = bytes;
        for (final Block block : live.values()) {
            if (block.isTaken) {
                failures.run(() -> deallocate(block, null));
            }
        }
        live.clear();
        bytes = 0;
    }

    Replay result() {
        return new Replay(allocations, failures, frees, unknownFrees, peakBytes, bytesAtEnd);
    }
}
