package allocator.conformance.runner.simple;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Takes regions from the device within the limit, and returns free ones. */
final class SimpleGrowth {
    private final MemoryInfo info;
    private final AllocatorOptions options;
    private final Fault fault;
    private final SimpleRegions regions;
    private final SimpleChunks chunks;
    private final SimpleCounters counters;
    private final long limit;

    SimpleGrowth(
            MemoryInfo info,
            AllocatorOptions options,
            Fault fault,
            SimpleRegions regions,
            SimpleChunks chunks,
            SimpleCounters counters) {
        this.info = info;
        this.options = options;
        this.fault = fault;
        this.regions = regions;
        this.chunks = chunks;
        this.counters = counters;
        limit = fault == Fault.LIMIT_ONLY_REPORTED ? Long.MAX_VALUE : options.get(SimpleFactory.LIMIT);
    }

    long limit() {
        return limit;
    }

    /**
     * Takes a region that a request fits, if limit and device allow.
     *
     * @param headroom the bytes that a check outside the lock has granted
     */
    void extend(long byteSize, long rounded, long headroom) {
        final long room = fault == Fault.LIMIT_ONLY_REPORTED ? Long.MAX_VALUE : limit - regions.held();
        if (rounded > room && headroom < byteSize) {
            giveBackFreeRegions();
            offerAgain();
        }
        if (rounded > limit - regions.held() && headroom < byteSize) {
            if (fault == Fault.HANGS_WHEN_IMPOSSIBLE && byteSize > 1L << 49) {
                backOffWithoutEnd();
            }
            if (fault == Fault.ZERO_INSTEAD_OF_EXCEPTION) {
                return;
            }
            throw exhausted(byteSize, rounded, null);
        }
        final long wanted = Math.max(
                rounded,
                fault == Fault.REGION_SIZE_IGNORED
                        ? SimpleFactory.REGION.defaultValue()
                        : options.get(SimpleFactory.REGION));
        final long size = wanted <= limit - regions.held() ? wanted : rounded;
        try {
            chunks.add(regions.take(size));
        } catch (OutOfMemoryException e) {
            final boolean isRefused = regions.refusedBytes() > 0;
            offerAgain();
            extendByLess(byteSize, rounded, isRefused ? Long.MAX_VALUE : size, e);
        }
    }

    /** Offers refused memory to the device again, before a request fails and at a shrink. */
    void offerAgain() {
        if (fault != Fault.REFUSED_MEMORY_IS_NOT_OFFERED_AGAIN) {
            regions.offerAgain();
        }
    }

    private void extendByLess(long byteSize, long rounded, long failed, OutOfMemoryException cause) {
        if (rounded < failed && fault != Fault.DEVICE_FAILURE_IS_FINAL) {
            try {
                chunks.add(regions.take(rounded));
                return;
            } catch (OutOfMemoryException e) {
                throw exhausted(byteSize, rounded, e);
            }
        }
        if (fault == Fault.HANGS_WHEN_IMPOSSIBLE) {
            backOffWithoutEnd();
        }
        if (fault != Fault.ZERO_INSTEAD_OF_EXCEPTION) {
            throw exhausted(byteSize, rounded, cause);
        }
    }

    private static void backOffWithoutEnd() {
        long size = 1L << 50;
        while (!Thread.currentThread().isInterrupted()) {
            size = Math.max(size / 2, 0);
            Thread.onSpinWait();
        }
        throw new IllegalStateException("interrupted at " + size);
    }

    /** Counts an exhaustion and returns its exception. */
    RuntimeException exhausted(long byteSize, long rounded, @Nullable OutOfMemoryException cause) {
        counters.failed();
        if (fault == Fault.JAVA_OUT_OF_MEMORY_ERROR) {
            throw new OutOfMemoryError("simple");
        }
        final long lie = fault == Fault.SHORTAGE_NUMBERS_LIE ? 4096 : 0;
        return new OutOfMemoryException(
                "no room",
                new Shortage(
                        info,
                        byteSize,
                        rounded,
                        limit == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limit,
                        counters.inUse() + lie,
                        regions.held(),
                        OutOfMemoryException.UNKNOWN,
                        cause == null
                                ? OutOfMemoryException.UNKNOWN
                                : cause.shortage().deviceFree()),
                "",
                cause);
    }

    void requireRoomForReserve(long byteSize) {
        if (byteSize > limit - regions.held() && fault != Fault.RESERVE_PASSES_THE_LIMIT) {
            giveBackFreeRegions();
            offerAgain();
            if (byteSize > limit - regions.held()) {
                throw exhausted(byteSize, byteSize, null);
            }
        }
    }

    /** Takes a region of exactly the size of a reserve; returns its only chunk. */
    SimpleChunk reserve(long byteSize) {
        try {
            return chunks.add(regions.takeReserve(byteSize));
        } catch (OutOfMemoryException e) {
            throw exhausted(byteSize, byteSize, e);
        }
    }

    /** Returns the regions in which nothing is live to the device; returns how many. */
    int giveBackFreeRegions() {
        int count = 0;
        for (final SimpleRegion region : regions.all()) {
            final List<SimpleChunk> inside = chunks.in(region);
            final boolean isWhole = fault != Fault.SMALL_REMAINDERS_ARE_LOST
                    || inside.stream().mapToLong(chunk -> chunk.byteSize).sum() == region.byteSize();
            if (isWhole && inside.stream().noneMatch(chunk -> chunk.isLive) && !region.isReserve()) {
                waitForWork(inside);
                final long before = regions.refusedBytes();
                regions.giveBack(region, () -> chunks.remove(inside));
                count += regions.refusedBytes() == before || fault == Fault.SHRINK_REPORTS_REFUSED_MEMORY ? 1 : 0;
            }
        }
        return count;
    }

    private void waitForWork(List<SimpleChunk> inside) {
        for (final SimpleChunk chunk : inside) {
            if (chunk.boundTo != null && fault != Fault.SHRINK_TAKES_QUEUED_MEMORY) {
                final SimpleStream stream = (SimpleStream) chunk.boundTo;
                stream.finish(stream.point());
            }
        }
    }
}
