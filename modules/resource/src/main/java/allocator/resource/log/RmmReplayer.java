package allocator.resource.log;

import allocator.resource.StreamOrderedMemoryResource;
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

    private record Block(long address, long byteSize) {}

    RmmReplayer(StreamOrderedMemoryResource resource, LongFunction<@Nullable SyncStream> streams) {
        this.resource = resource;
        this.streams = streams;
    }

    void replay(Entry entry) {
        switch (entry.action()) {
            case ALLOCATE -> allocate(entry);
            case FREE -> free(entry);
            case ALLOCATE_FAILURE -> failures++;
        }
    }

    private void allocate(Entry entry) {
        if (entry.address() == 0) {
            return;
        }
        final long byteAlignment = resource.memory().byteAlignment();
        final SyncStream stream = streams.apply(entry.stream());
        try {
            final long address = stream == null
                    ? resource.allocate(entry.byteSize(), byteAlignment)
                    : resource.allocate(entry.byteSize(), byteAlignment, stream);
            live.put(entry.address(), new Block(address, entry.byteSize()));
            allocations++;
            bytes += entry.byteSize();
            peakBytes = Math.max(peakBytes, bytes);
        } catch (OutOfMemoryException e) {
            failures++;
        }
    }

    private void free(Entry entry) {
        final Block block = live.remove(entry.address());
        if (block == null) {
            unknownFrees++;
            return;
        }
        frees++;
        deallocate(block, streams.apply(entry.stream()));
    }

    private void deallocate(Block block, @Nullable SyncStream stream) {
        bytes -= block.byteSize;
        final long byteAlignment = resource.memory().byteAlignment();
        if (stream == null) {
            resource.deallocate(block.address, block.byteSize, byteAlignment);
        } else {
            resource.deallocate(block.address, block.byteSize, byteAlignment, stream);
        }
    }

    /** Deallocates all live blocks. */
    void end() {
        bytesAtEnd = bytes;
        live.values().forEach(block -> deallocate(block, null));
        live.clear();
    }

    Replay result() {
        return new Replay(allocations, failures, frees, unknownFrees, peakBytes, bytesAtEnd);
    }
}
