package allocator.conformance.runner.simple;

import allocator.conformance.subject.Expect;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The chunks of an allocator, by address: found by first fit, split, bound to streams, and coalesced. */
final class SimpleChunks {
    /** The end of a stream that is closing. */
    static final long CLOSING = Long.MAX_VALUE;

    static final long GRANULE = 256;
    private static final long SMALL_REMAINDER = 4096;

    private final SimpleFactory factory;
    private final SimpleRegions regions;
    private final Fault fault;
    /** Concurrent, so that the provider that is not thread-safe loses blocks and never loops in a torn tree. */
    private final NavigableMap<Long, SimpleChunk> chunks = new ConcurrentSkipListMap<>();

    private final Map<Long, Long> freedOnce = new ConcurrentSkipListMap<>();

    SimpleChunks(SimpleFactory factory, SimpleRegions regions) {
        this.factory = factory;
        this.regions = regions;
        fault = factory.fault();
    }

    Stream<SimpleChunk> free() {
        return chunks.values().stream().filter(chunk -> !chunk.isLive);
    }

    List<SimpleChunk> in(SimpleRegion region) {
        return all(chunk -> chunk.region == region.base());
    }

    private List<SimpleChunk> all(Predicate<SimpleChunk> filter) {
        return chunks.values().stream().filter(filter).toList();
    }

    /** Returns the only chunk of a new region. */
    SimpleChunk add(SimpleRegion region) {
        final SimpleChunk chunk = new SimpleChunk(region.base(), region.address(), region.byteSize());
        chunks.put(chunk.address, chunk);
        return chunk;
    }

    void remove(List<SimpleChunk> removed) {
        removed.forEach(chunk -> chunks.remove(chunk.address));
    }

    void clear() {
        chunks.clear();
    }

    /** Rounds a size up to whole granules. */
    long round(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - GRANULE) {
            if (fault == Fault.ROUNDING_OVERFLOWS) {
                return GRANULE;
            }
            throw InvalidSizeException.overflow(byteSize, GRANULE);
        }
        return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    /** Returns the first free chunk that is large enough and usable on a stream. */
    @Nullable
    SimpleChunk find(long byteSize, @Nullable SyncStream stream) {
        for (final SimpleChunk chunk : chunks.values()) {
            if (!chunk.isLive
                    && chunk.byteSize >= byteSize
                    && (fault == Fault.FREED_MEMORY_IS_LOST ? chunk.requested == 0 : isUsable(chunk, stream))) {
                return chunk;
            }
        }
        return null;
    }

    private boolean isUsable(SimpleChunk chunk, @Nullable SyncStream stream) {
        final SyncStream bound = chunk.boundTo;
        if (bound == null || Expect.same(bound, stream)) {
            return fault != Fault.ONE_STREAM_HOLDS_MORE
                    || stream == null
                    || Expect.same(bound, stream)
                    || chunk.byteSize == regions.of(chunk).byteSize();
        }
        if (fault == Fault.REUSE_BEFORE_THE_STREAM_IS_DONE) {
            return true;
        }
        if (stream == null) {
            return fault == Fault.NO_STREAM_TAKES_ALL;
        }
        if (fault == Fault.HANDLE_IS_IDENTITY) {
            return factory.waitedByHandle(stream, bound) > chunk.stamp;
        }
        return stream.lastWaitedSyncId(bound) > chunk.stamp;
    }

    /** Cuts a free chunk to a size. */
    void split(SimpleChunk chunk, long byteSize) {
        if (chunk.byteSize > byteSize) {
            if (fault == Fault.SMALL_REMAINDERS_ARE_LOST && chunk.byteSize - byteSize <= SMALL_REMAINDER) {
                chunk.byteSize = byteSize;
                return;
            }
            final SimpleChunk rest = new SimpleChunk(chunk.region, chunk.address + byteSize, chunk.byteSize - byteSize);
            rest.boundTo = chunk.boundTo;
            rest.stamp = chunk.stamp;
            rest.requested = chunk.requested;
            chunks.put(rest.address, rest);
            chunk.byteSize = byteSize;
        }
    }

    /** Makes a free chunk live. */
    void take(SimpleChunk chunk, long requested, @Nullable SyncStream stream) {
        chunk.isLive = true;
        chunk.thread = Thread.currentThread();
        chunk.requested = requested;
        chunk.user = stream;
        chunk.boundTo = null;
        chunk.stamp = stream == null ? 0 : stream.syncId();
        freedOnce.remove(chunk.address);
    }

    void overwriteNeighbourOf(SimpleChunk chunk) {
        final Map.Entry<Long, SimpleChunk> next = chunks.higherEntry(chunk.address);
        if (next != null && next.getValue().region == chunk.region) {
            SimpleDevice.see(next.getKey(), 1).set(java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (byte) 0x5A);
        }
    }

    void overwriteLiveOnes() {
        all(chunk -> chunk.isLive && regions.of(chunk).byteSize() > chunk.byteSize)
                .forEach(chunk -> SimpleDevice.see(chunk.address, 1).fill((byte) 0x77));
    }

    /** Returns the live chunk at an address; {@code null} where the fault is to accept an invalid free silently. */
    @Nullable
    SimpleChunk requireLive(long address) {
        final SimpleChunk chunk = chunks.get(address);
        if (chunk != null && chunk.isLive) {
            return chunk;
        }
        final Map.Entry<Long, SimpleChunk> below = chunks.floorEntry(address);
        if (below != null && below.getValue().isLive && address < below.getKey() + below.getValue().byteSize) {
            if (fault != Fault.INTERIOR_FREE_ACCEPTED) {
                throw new InteriorAddressException(address, "it lies inside a live block");
            }
            return below.getValue();
        }
        if (chunk != null || freedOnce.containsKey(address)) {
            if (fault != Fault.DOUBLE_FREE_ACCEPTED) {
                throw new DoubleFreeException(address, "it was freed already");
            }
        } else if (fault != Fault.FOREIGN_FREE_IGNORED) {
            throw new ForeignAddressException(address, "it was never allocated");
        }
        return null;
    }

    /** Makes a live chunk free, bound to the stream it was used on. */
    void release(SimpleChunk chunk) {
        chunk.isLive = false;
        freedOnce.put(chunk.address, chunk.address);
        if (freedOnce.size() > 1000) {
            freedOnce.clear();
        }
        final SimpleStream user = (SimpleStream) chunk.user;
        if (user != null && (!user.isClosed() || fault == Fault.BOUND_TO_A_CLOSED_STREAM)) {
            chunk.boundTo = user;
            if (fault != Fault.STAMP_WHEN_TAKEN) {
                chunk.stamp = user.syncId();
            }
        }
    }

    /** Merges a free chunk with its free neighbours. */
    void coalesce(SimpleChunk freed) {
        SimpleChunk chunk = freed;
        final Map.Entry<Long, SimpleChunk> below = chunks.lowerEntry(chunk.address);
        if (below != null && mayMerge(below.getValue(), chunk)) {
            chunk = merge(below.getValue(), chunk);
        }
        final Map.Entry<Long, SimpleChunk> above = chunks.higherEntry(chunk.address);
        if (above != null && mayMerge(chunk, above.getValue())) {
            merge(chunk, above.getValue());
        }
    }

    private boolean mayMerge(SimpleChunk low, SimpleChunk high) {
        return low.region == high.region
                && !low.isLive
                && !high.isLive
                && (Expect.same(low.boundTo, high.boundTo)
                        || low.boundTo == null
                        || high.boundTo == null
                        || fault == Fault.MERGE_KEEPS_ONE_STREAM);
    }

    private SimpleChunk merge(SimpleChunk low, SimpleChunk high) {
        chunks.remove(high.address);
        low.byteSize += high.byteSize;
        if (fault == Fault.OVERLAP_AFTER_COALESCE) {
            final Map.Entry<Long, SimpleChunk> next = chunks.higherEntry(low.address);
            if (next != null && next.getValue().region == low.region && low.byteSize > 8 * GRANULE) {
                low.byteSize += GRANULE;
            }
        }
        if (low.boundTo == null) {
            low.boundTo = high.boundTo;
            low.stamp = high.stamp;
        } else if (Expect.same(low.boundTo, high.boundTo)) {
            low.stamp = Math.max(low.stamp, high.stamp);
        }
        low.requested = Math.max(low.requested, high.requested);
        return low;
    }

    /** Unbinds the chunks of a stream whose work is done. */
    void unbind(SimpleStream stream, long endId) {
        final List<SimpleChunk> bound = all(chunk -> Expect.same(chunk.boundTo, stream) && chunk.stamp < endId);
        bound.forEach(chunk -> chunk.boundTo = null);
        if (endId == CLOSING) {
            all(chunk -> Expect.same(chunk.user, stream)).forEach(chunk -> chunk.user = null);
        }
        bound.stream()
                .filter(chunk -> Expect.same(chunks.get(chunk.address), chunk))
                .forEach(this::coalesce);
    }
}
