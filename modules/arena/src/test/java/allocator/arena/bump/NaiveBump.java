package allocator.arena.bump;

import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A {@link BumpAllocator} that finds a region by a look at all of them. Streams that end are released first. */
final class NaiveBump {
    private static final long BYTE_ALIGNMENT = FakeDevice.INFO.byteAlignment();

    /** The lane of requests without a stream. */
    private final FakeStream common = new FakeStream();

    private final FakeDevice device;
    private final BumpConfig config;
    private final long maxMem;

    /** In order of address, as the addresses of the device rise. */
    private final List<Region> regions = new ArrayList<>();

    private final Map<FakeStream, Region> current = new HashMap<>();

    private static final class Region {
        private final long base;
        private final long byteSize;
        private final boolean isForOneRequest;
        private @Nullable FakeStream lane;
        private long stamp;
        private long top;
        private int live;

        Region(long base, long byteSize, boolean isForOneRequest) {
            this.base = base;
            this.byteSize = byteSize;
            this.isForOneRequest = isForOneRequest;
        }

        long room() {
            return byteSize - (top + BYTE_ALIGNMENT - 1) / BYTE_ALIGNMENT * BYTE_ALIGNMENT;
        }

        long bump(long wantedSize) {
            final long start = byteSize - room();
            top = start + wantedSize;
            live++;
            return base + start;
        }
    }

    NaiveBump(FakeDevice device, BumpConfig config, long maxMem) {
        this.device = device;
        this.config = config;
        this.maxMem = maxMem;
    }

    private boolean isIdle(Region region) {
        return region.lane == null || (region.lane.equals(common) && region.live == 0);
    }

    /** Returns {@code 0} if there is no memory. */
    long alloc(long byteSize, @Nullable FakeStream stream) {
        final FakeStream lane = stream == null ? common : stream;
        final Region first = current.get(lane);
        if (first != null && first.room() >= byteSize) {
            return first.bump(byteSize);
        }
        Region region = smallest(byteSize, own -> lane.equals(own.lane));
        if (region == null) {
            region = smallest(byteSize, other -> isIdle(other) || hasWaitedFor(stream, other));
        }
        if (region == null) {
            region = extend(byteSize, lane);
            if (region == null && release(this::isIdle) > 0) {
                region = extend(byteSize, lane);
            }
            return region == null ? 0 : region.bump(byteSize);
        }
        current.values().remove(region);
        region.lane = lane;
        current.put(lane, region);
        return region.bump(byteSize);
    }

    private @Nullable Region smallest(long byteSize, Predicate<Region> isEligible) {
        Region best = null;
        for (final Region region : regions) {
            if (region.room() >= byteSize && (best == null || region.room() < best.room()) && isEligible.test(region)) {
                best = region;
            }
        }
        return best;
    }

    private boolean hasWaitedFor(@Nullable FakeStream stream, Region region) {
        return stream != null
                && region.live == 0
                && region.lane != null
                && !region.lane.equals(common)
                && stream.lastWaitedSyncId(region.lane) > region.stamp;
    }

    private @Nullable Region extend(long byteSize, FakeStream lane) {
        final long chained = regions.stream()
                .filter(region -> !region.isForOneRequest)
                .mapToLong(region -> region.byteSize)
                .sum();
        final long left = maxMem - device.liveBytes();
        final long size = config.nextRegionBytes(byteSize, chained, left);
        Region region = size > 0 ? take(size, lane, false) : null;
        if (region == null && byteSize <= left) {
            region = take(byteSize, lane, true);
        }
        return region;
    }

    private @Nullable Region take(long byteSize, FakeStream lane, boolean isForOneRequest) {
        try {
            final Region region = new Region(device.alloc(byteSize), byteSize, isForOneRequest);
            region.lane = lane;
            regions.add(region);
            if (!isForOneRequest) {
                current.put(lane, region);
            }
            return region;
        } catch (OutOfMemoryException e) {
            return null;
        }
    }

    void free(long address) {
        final Region region = regions.stream()
                .filter(candidate -> address >= candidate.base && address < candidate.base + candidate.byteSize)
                .findFirst()
                .orElseThrow();
        final FakeStream lane = region.lane;
        if (lane != null && !lane.equals(common)) {
            region.stamp = lane.syncId();
        }
        region.live--;
        if (region.live == 0) {
            region.top = 0;
        }
        release(one -> one == region && one.isForOneRequest && common.equals(one.lane) && one.live == 0);
    }

    int shrink() {
        return release(this::isIdle);
    }

    private int release(Predicate<Region> isOver) {
        final List<Region> over = regions.stream().filter(isOver).toList();
        for (final Region region : over) {
            regions.remove(region);
            current.values().remove(region);
            device.free(region.base);
        }
        return over.size();
    }

    void endRun(FakeStream stream) {
        for (final Region region : regions) {
            if (stream.equals(region.lane) && region.live == 0) {
                region.lane = null;
            }
        }
        current.remove(stream);
        release(region -> region.lane == null && region.isForOneRequest);
    }

    void releaseStream(FakeStream stream) {
        for (final Region region : regions) {
            if (stream.equals(region.lane) && region.live > 0) {
                region.lane = common;
            }
        }
        endRun(stream);
    }
}
