package allocator.onnxruntime;

import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.RemappableReserves;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The weights of a session on one GPU: what ONNX Runtime has reserved on pages of their own. Asleep they are in pinned
 * memory, which stays for the next sleep, as pinning is slow: shared weights once for all sessions. The caller makes
 * one call at a time, while no run is in flight; {@link #bytesAsleep} may be called at any time.
 */
final class SleepingWeights {
    private final ExportedAllocator export;
    private final InstalledMemory device;
    private final InstalledMemory host;
    private final RemappableReserves pages;

    /** The sizes of the reserves that are asleep, by address; some may have pages, after failures. */
    private final Map<Long, Long> reserves = new TreeMap<>();

    /** By the address of the reserve. */
    private final Map<Long, HostCopies.Copy> copies = new TreeMap<>();

    private volatile long bytesAsleep;

    SleepingWeights(ExportedAllocator export, InstalledMemory device, InstalledMemory host, RemappableReserves pages) {
        this.export = export;
        this.device = device;
        this.host = host;
        this.pages = pages;
    }

    long bytesAsleep() {
        return bytesAsleep;
    }

    /** Returns what would sleep, by address. */
    private Map<Long, Long> awake() {
        final Map<Long, Long> sizes = new TreeMap<>();
        export.forEach((address, byteSize, name) -> {
            if (byteSize >= pages.pageBytes() && pages.mappedBytes(address) > 0) {
                sizes.put(address, byteSize);
            }
        });
        return sizes;
    }

    private static long sum(Map<Long, Long> sizes) {
        return sizes.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns the bytes of a memory that a sleep gives back; 0 if they sleep, or it is another memory. */
    long bytesAwake(InstalledMemory of) {
        return of == device && bytesAsleep == 0 ? sum(awake()) : 0;
    }

    /** Puts the weights to sleep or wakes them, with the event of it. Returns the bytes that were moved. */
    long move(boolean isSleep) {
        final DeviceCall call = AllocatorEvents.sleeping(export.session(), device.info(), bytesAsleep, isSleep);
        try {
            final long byteSize = isSleep ? sleep() : wake();
            if (byteSize > 0) {
                call.measured(byteSize);
                call.end(true, 0);
            }
            return byteSize;
        } catch (Throwable e) {
            call.end(false, 0);
            throw e;
        }
    }

    /** Copies the weights to the host and gives their pages back, all or none. Returns their bytes. */
    private long sleep() {
        final Map<Long, Long> sizes = awake();
        final long byteSize = sum(sizes);
        if (bytesAsleep > 0 || byteSize == 0) {
            return 0;
        }
        requireCopies(sizes);
        try (SyncStream stream = device.target().createStream()) { // whose close waits for the copies
            sizes.forEach((address, size) -> {
                if (!Objects.requireNonNull(copies.get(address)).isComplete) {
                    copy(onDevice(address, size), onHost(address, 0, size), stream);
                }
            });
        }
        copies.forEach((address, copy) -> copy.isComplete = device.weights().copyOf(address) != 0);
        reserves.putAll(sizes);
        bytesAsleep = byteSize;
        try {
            pages.unmap(mapped());
        } catch (Throwable e) {
            if (mapped().length == sizes.size()) {
                reserves.clear();
                bytesAsleep = 0; // nothing has changed
            } // or else the next run wakes it
            throw e;
        }
        return byteSize;
    }

    /** Gives the weights pages and copies them back, all or none, after other wakes. Returns their bytes. */
    private long wake() {
        synchronized (device.wakes()) { // two at once could have the same weights, and would be no faster
            return wakeNow();
        }
    }

    private long wakeNow() {
        final long byteSize = bytesAsleep;
        if (byteSize == 0) {
            return 0;
        }
        final Map<Long, SyncNotification> copied = new TreeMap<>();
        try {
            pages.unmap(mapped()); // which a failure has left
            try (SyncStream stream = device.target().createStream()) { // whose close waits for the copies
                reserves.forEach((address, size) -> {
                    wake(address, size, stream);
                    copied.put(address, stream.createNotification());
                    copied.get(address).activate();
                });
                copied.forEach((address, point) -> {
                    point.waitOnHost(); // while what follows is copied
                    device.weights().shareAgain(address);
                });
            } finally {
                copied.values().forEach(SyncNotification::close);
            }
        } catch (Throwable e) {
            final Failures failures = new Failures();
            failures.add(e instanceof OutOfMemoryException exhausted ? noRoom(byteSize, exhausted) : e);
            failures.run(() -> pages.unmap(mapped())); // waits for the copies
            failures.throwIfAny();
        }
        reserves.clear();
        bytesAsleep = 0;
        return byteSize;
    }

    /** Returns the addresses of the reserves that have pages. */
    private long[] mapped() {
        return reserves.keySet().stream()
                .mapToLong(Long::longValue)
                .filter(address -> pages.mappedBytes(address) > 0)
                .toArray();
    }

    private void wake(long address, long byteSize, SyncStream stream) {
        device.withRoom(bytesAsleep, () -> {
            pages.map(address, (from, partBytes) -> {
                final long part = Math.min(partBytes, byteSize - from);
                copy(onHost(address, from, part), onDevice(address + from, part), stream);
            });
            return address;
        });
    }

    private OutOfMemoryException noRoom(long byteSize, OutOfMemoryException e) {
        final AllocatorStats stats = device.stats();
        return new OutOfMemoryException(
                "session " + export.session() + " cannot wake: its weights need " + MemoryDump.size(byteSize)
                        + (stats.limit() < 0
                                ? ""
                                : ", free under the limit are " + MemoryDump.size(stats.limit() - stats.bytesHeld()))
                        + "; let other sessions sleep, or raise the limit: " + e.getMessage(),
                e.shortage(),
                e.dump(),
                e);
    }

    private MemoryRange onDevice(long address, long byteSize) {
        return new MemoryRange(device.info(), address, byteSize);
    }

    private MemoryRange onHost(long address, long offset, long byteSize) {
        return new MemoryRange(host.info(), Objects.requireNonNull(copies.get(address)).address + offset, byteSize);
    }

    private void copy(MemoryRange source, MemoryRange target, SyncStream stream) {
        device.target().dataTransfer().copy(source, target, stream);
    }

    private void requireCopies(Map<Long, Long> sizes) {
        copies.entrySet().removeIf(copy -> {
            final boolean isOther = sizes.getOrDefault(copy.getKey(), 0L) != copy.getValue().byteSize
                    || copy.getValue().id != device.weights().copyOf(copy.getKey());
            if (isOther) {
                device.hostCopies().giveBack(copy.getValue());
            }
            return isOther;
        });
        sizes.forEach((address, byteSize) -> copies.computeIfAbsent(
                address,
                _ -> device.hostCopies().take(host.allocator(), device.weights().copyOf(address), byteSize)));
    }

    /**
     * Gives the copies back, once ONNX Runtime has no more use of the weights. A second call does nothing, also at
     * once: who closes the session, and who opens another one, may find it closed.
     */
    synchronized void close() {
        reserves.clear();
        bytesAsleep = 0;
        requireCopies(Map.of());
    }
}
