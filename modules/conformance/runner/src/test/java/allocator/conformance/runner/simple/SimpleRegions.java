package allocator.conformance.runner.simple;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/** The regions that an allocator has taken from the device, and their bytes. */
final class SimpleRegions {
    private static final long LARGE = 1 << 20;

    private final SimpleDevice device;
    private final MemoryInfo info;
    private final Fault fault;
    private final Map<Long, SimpleRegion> regions = new ConcurrentSkipListMap<>();

    /** Regions that the statistics no longer count, but that the device has not got back. */
    private final List<Long> forgotten = new ArrayList<>();

    /** Regions that the device did not take back. They count as held. */
    private final List<SimpleRegion> refused = new ArrayList<>();

    private long held;
    private long peakHeld;

    SimpleRegions(SimpleDevice device, MemoryInfo info, Fault fault) {
        this.device = device;
        this.info = info;
        this.fault = fault;
    }

    long held() {
        return held;
    }

    long peakHeld() {
        return peakHeld;
    }

    List<SimpleRegion> all() {
        return List.copyOf(regions.values());
    }

    SimpleRegion of(SimpleChunk chunk) {
        return regions.get(chunk.region);
    }

    long refusedBytes() {
        return refused.stream().mapToLong(SimpleRegion::byteSize).sum();
    }

    /** Returns the number of regions that are not reserves. */
    long count() {
        return regions.values().stream().filter(region -> !region.isReserve()).count();
    }

    SimpleRegion take(long byteSize) {
        return take(byteSize, false, fault == Fault.ALIGNMENT_LOST_WHEN_LARGE && byteSize > LARGE ? 16 : 0);
    }

    SimpleRegion takeReserve(long byteSize) {
        return take(byteSize, true, 0);
    }

    private SimpleRegion take(long byteSize, boolean isReserve, long skew) {
        if (fault == Fault.COUNTED_BEFORE_THE_DEVICE_CALL) {
            held += byteSize;
        }
        final long base = device.take(info, byteSize + skew);
        if (fault != Fault.COUNTED_BEFORE_THE_DEVICE_CALL) {
            held += byteSize;
        }
        peakHeld = Math.max(peakHeld, held);
        final SimpleRegion region = new SimpleRegion(base, base + skew, byteSize, isReserve);
        regions.put(base, region);
        return region;
    }

    /** Returns a free region to the device; {@code forget} removes its chunks. */
    void giveBack(SimpleRegion region, Runnable forget) {
        if (fault == Fault.SHRINK_STATISTICS_LIE) {
            forgotten.add(region.base());
            remove(region, forget);
            return;
        }
        try {
            device.giveBack(region.base());
            remove(region, forget);
        } catch (Throwable e) {
            keep(region, forget, e);
        }
    }

    /** Keeps memory that the device refused. */
    private void keep(SimpleRegion region, Runnable forget, Throwable e) {
        if (fault == Fault.REFUSED_MEMORY_IS_HANDED_OUT) {
            regions.put(region.base(), new SimpleRegion(region.base(), region.address(), region.byteSize(), false));
            return;
        }
        remove(region, forget);
        if (fault != Fault.LEAK_ON_DEVICE_FAILURE && !(fault == Fault.LOST_ON_AN_ERROR && e instanceof Error)) {
            refused.add(region);
            held += region.byteSize();
        }
        if (fault == Fault.FREE_THROWS_WHAT_THE_DEVICE_THROWS) {
            throw new DeviceException("the device did not take a region back", e);
        }
    }

    /** Offers refused memory to the device again; returns what it threw last. */
    @Nullable
    Throwable offerAgain() {
        Throwable failure = null;
        for (final SimpleRegion region : List.copyOf(refused)) {
            try {
                device.giveBack(region.base());
                refused.remove(region);
                held -= region.byteSize();
            } catch (Throwable e) {
                failure = e;
            }
        }
        return failure;
    }

    private void remove(SimpleRegion region, Runnable forget) {
        forget.run();
        regions.remove(region.base());
        held -= region.byteSize();
    }

    /** Returns everything to the device; may be repeated. */
    void close() {
        if (fault != Fault.RELEASE_RETURNS_NOTHING) {
            refused.addAll(all());
            regions.clear();
        }
        final Throwable failure = offerAgain();
        forgotten.forEach(device::giveBack);
        forgotten.clear();
        if (failure != null && fault != Fault.RELEASE_HIDES_WHAT_THE_DEVICE_KEPT) {
            throw new DeviceException("the device kept " + refusedBytes() + " bytes", failure);
        }
    }
}
