package allocator.arena.bump;

import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A {@link BumpAllocator} that chooses a region among all of them by a rule. Streams that end are released first. */
final class NaiveBump {
    private static final long BYTE_ALIGNMENT = FakeDevice.INFO.byteAlignment();

    /** Among empty regions the smallest, of these the one that became so last. */
    private static final Comparator<Region> EMPTY = Comparator.<Region>comparingLong(region -> region.byteSize)
            .thenComparing(region -> region.since, Comparator.reverseOrder());

    /** Among others the one with the least room, of these the one that was left last. */
    private static final Comparator<Region> PARTLY_USED =
            Comparator.comparingLong(Region::room).thenComparing(region -> region.since, Comparator.reverseOrder());

    /** The lane of requests without a stream. */
    private final FakeStream common = new FakeStream();

    private final FakeDevice device;
    private final BumpConfig config;
    private final long maxMem;
    private final List<Region> regions = new ArrayList<>();
    private final Map<FakeStream, Region> current = new HashMap<>();
    private long clock;

    private static final class Region {
        private final long base;
        private final long byteSize;
        private final boolean isForOneRequest;
        private FakeStream lane;
        private long stamp;

        /** When it was last taken for a request, left or emptied, or came to its lane. */
        private long since;

        private long top;
        private int live;

        Region(long base, long byteSize, boolean isForOneRequest, FakeStream lane) {
            this.base = base;
            this.byteSize = byteSize;
            this.isForOneRequest = isForOneRequest;
            this.lane = lane;
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

    private Stream<Region> with(Predicate<Region> isMeant) {
        return List.copyOf(regions).stream().filter(isMeant);
    }

    private Stream<Region> empty(FakeStream lane) {
        return with(region -> region.live == 0 && region.lane.equals(lane));
    }

    /** Returns {@code 0} if there is no memory. */
    long alloc(long byteSize, @Nullable FakeStream stream) {
        final FakeStream lane = stream == null ? common : stream;
        final Region first = current.get(lane);
        if (first != null && first.room() >= byteSize) {
            return first.bump(byteSize);
        }
        Region region = find(byteSize, lane);
        if (region == null) {
            region = extend(byteSize, lane);
        }
        if (region == null && release(this::isIdle) > 0) {
            region = extend(byteSize, lane);
        }
        return region == null ? 0 : use(region, lane, byteSize);
    }

    private @Nullable Region find(long byteSize, FakeStream lane) {
        return with(own -> own.live > 0 && own.lane.equals(lane) && own.room() >= byteSize)
                .min(PARTLY_USED)
                .or(() -> smallest(byteSize, empty(lane)))
                .or(() -> smallest(byteSize, empty(common)))
                .or(() -> lane.equals(common)
                        ? Optional.empty()
                        : with(region -> region.live == 0 && lane.lastWaitedSyncId(region.lane) > region.stamp)
                                .collect(Collectors.groupingBy(region -> region.lane))
                                .values()
                                .stream()
                                .flatMap(ofLane -> smallest(byteSize, ofLane.stream()).stream())
                                .min(Comparator.<Region>comparingLong(region -> region.byteSize)
                                        .thenComparingLong(region -> region.base)))
                .orElse(null);
    }

    private static Optional<Region> smallest(long byteSize, Stream<Region> empty) {
        return empty.filter(region -> region.byteSize >= byteSize).min(EMPTY);
    }

    private long use(Region region, FakeStream lane, long byteSize) {
        current.values().remove(region);
        region.lane = lane;
        final long address = region.bump(byteSize);
        if (!region.isForOneRequest) {
            leaveCurrent(lane);
            current.put(lane, region);
        }
        region.since = ++clock;
        return address;
    }

    private void leaveCurrent(FakeStream lane) {
        final Region left = current.remove(lane);
        if (left != null) {
            left.since = ++clock;
        }
    }

    private boolean isIdle(Region region) {
        return region.live == 0 && region.lane.equals(common);
    }

    private @Nullable Region extend(long byteSize, FakeStream lane) {
        final long shared = with(region -> !region.isForOneRequest)
                .mapToLong(region -> region.byteSize)
                .sum();
        final long left = maxMem - device.liveBytes();
        final long size = config.nextRegionBytes(byteSize, shared, left);
        final Region region = size > 0 ? take(size, lane, false) : null;
        return region == null && byteSize <= left ? take(byteSize, lane, true) : region;
    }

    private @Nullable Region take(long byteSize, FakeStream lane, boolean isForOneRequest) {
        try {
            final Region region = new Region(device.alloc(byteSize), byteSize, isForOneRequest, lane);
            regions.add(region);
            return region;
        } catch (OutOfMemoryException e) {
            return null;
        }
    }

    void free(long address) {
        final Region region = with(candidate ->
                        address >= candidate.base && address < candidate.base + candidate.byteSize)
                .findFirst()
                .orElseThrow();
        if (!region.lane.equals(common)) {
            region.stamp = region.lane.syncId();
        }
        region.live--;
        if (region.live == 0) {
            region.top = 0;
            region.since = ++clock;
        }
        release(one -> one == region && one.isForOneRequest && isIdle(one));
    }

    int shrink() {
        return release(this::isIdle);
    }

    private int release(Predicate<Region> isOver) {
        final List<Region> over = with(isOver).toList();
        for (final Region region : over) {
            regions.remove(region);
            current.values().remove(region);
            device.free(region.base);
        }
        return over.size();
    }

    void endRun(FakeStream stream) {
        leaveCurrent(stream);
        move(empty(stream).sorted(EMPTY).toList());
    }

    void releaseStream(FakeStream stream) {
        endRun(stream);
        move(with(region -> region.lane.equals(stream))
                .sorted(Comparator.comparing(region -> region.since, Comparator.reverseOrder()))
                .toList());
    }

    private void move(List<Region> moved) {
        for (final Region region : moved) {
            region.lane = common;
            region.since = ++clock;
        }
        release(region -> moved.contains(region) && region.isForOneRequest && region.live == 0);
    }
}
