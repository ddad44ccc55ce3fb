package allocator.conformance.runner.simple;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** The regions that an allocator has taken from the device, and their bytes. */
final class SimpleRegions {
    private static final long LARGE = 1 << 20;

    private final SimpleDevice device;
    private final MemoryInfo info;
    private final Fault fault;
    private final Map<Long, SimpleRegion> regions = new ConcurrentSkipListMap<>();

    /** Regions that the statistics no longer count, but that the device has not got back. */
    private final List<Long> forgotten = new ArrayList<>();

    private long held;
    private long peakHeld;
    private boolean hasHeapEnded;

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
        final long base = takeFromDevice(byteSize + skew);
        if (fault != Fault.COUNTED_BEFORE_THE_DEVICE_CALL) {
            held += byteSize;
        }
        peakHeld = Math.max(peakHeld, held);
        final SimpleRegion region = new SimpleRegion(base, base + skew, byteSize, isReserve);
        regions.put(base, region);
        return region;
    }

    private long takeFromDevice(long byteSize) {
        final long base;
        try {
            base = device.take(info, byteSize);
        } catch (OutOfMemoryError e) {
            hasHeapEnded = true;
            throw e;
        }
        if (hasHeapEnded && fault == Fault.LOST_WHERE_ITS_TABLE_FAILS) {
            hasHeapEnded = false;
            throw new OutOfMemoryError("the table of the regions cannot grow");
        }
        return base;
    }

    /** Returns a free region to the device; {@code forget} removes its chunks. */
    void giveBack(SimpleRegion region, Runnable forget) {
        if (fault == Fault.LEAK_ON_DEVICE_FAILURE) {
            remove(region, forget);
        }
        if (fault != Fault.SHRINK_STATISTICS_LIE) {
            device.giveBack(region.base());
        } else {
            forgotten.add(region.base());
        }
        if (fault != Fault.LEAK_ON_DEVICE_FAILURE) {
            remove(region, forget);
        }
    }

    /** Returns a freed reserve to the device. If the device fails, the memory becomes a region like any other. */
    void giveBackReserve(SimpleRegion region, Runnable forget) {
        try {
            device.giveBack(region.base());
            remove(region, forget);
        } catch (Throwable e) {
            if (fault == Fault.LOST_ON_AN_ERROR && e instanceof Error) {
                remove(region, forget);
            } else {
                regions.put(region.base(), new SimpleRegion(region.base(), region.address(), region.byteSize(), false));
            }
            if (fault == Fault.FREE_FAILS_AFTER_ITS_EFFECT || e instanceof DeviceException) {
                throw e;
            }
            throw new DeviceException("the device did not take a reserve back", e);
        }
    }

    private void remove(SimpleRegion region, Runnable forget) {
        forget.run();
        regions.remove(region.base());
        held -= region.byteSize();
    }

    void close() {
        for (final SimpleRegion region : all()) {
            if (fault != Fault.RELEASE_RETURNS_NOTHING) {
                device.giveBack(region.base());
                regions.remove(region.base());
            }
        }
        forgotten.forEach(device::giveBack);
    }
}
