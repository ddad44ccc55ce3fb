package allocator.arena.upstream;

import allocator.arena.page.ReservePages;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.LogLimit;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The upstream allocator of an arena, called by one thread at a time and without the lock of a lane.
 *
 * <p>A free takes effect. Memory that the upstream allocator's device did not take back belongs to the upstream
 * allocator, which reports it as {@link UnreturnedMemory}: it counts towards the arena's limit, and the arena has it
 * offered to the device again.
 */
public final class Upstream {
    private static final Logger LOG = System.getLogger(Upstream.class.getName());
    private static final Set<String> COUNTERS = Set.of("failedReturns", "unreturnedBytes");

    private final Allocator allocator;
    private final @Nullable UnreturnedMemory unreturned;

    private final Optional<ReservePages> paged;

    private final @Nullable PagedReserves reserves;
    private final MemoryInfo info;
    private final LogLimit logLimit = new LogLimit();

    /** Creates an instance for an upstream allocator. */
    public Upstream(Allocator allocator) {
        this.allocator = allocator;
        unreturned = allocator.as(UnreturnedMemory.class).orElse(null);
        paged = allocator instanceof ReservePages onPages ? Optional.of(onPages) : Optional.empty();
        reserves = paged.map(PagedReserves.class::cast)
                .or(() -> allocator.as(PagedReserves.class))
                .orElse(null);
        info = allocator.info();
    }

    /** Returns the memory that the upstream allocator serves. */
    public MemoryInfo info() {
        return info;
    }

    /**
     * Takes memory.
     *
     * @param part what the memory is for
     * @param byteSize size in bytes, above zero
     * @return its address
     * @throws DeviceException if the address that the upstream allocator returned is zero or not aligned; the memory
     *     was given back
     */
    public long take(DevicePart part, long byteSize) {
        final long address = UpstreamCalls.take(allocator, part, byteSize);
        final DeviceException unusable = UpstreamAddress.failure(info, address, byteSize);
        if (unusable != null) {
            if (address != 0) {
                giveBack(address, byteSize, DevicePart.UNUSED);
            }
            throw unusable;
        }
        return address;
    }

    /**
     * Frees a block of the upstream allocator. A {@link DeviceException}, which a free no longer throws, means that the
     * block is dead, and so does an {@link InvalidFreeException}: the stack ended in an earlier free of it.
     *
     * @param address the block
     * @param byteSize its size in bytes
     * @param part what the memory was for
     * @return {@code null} if the block is dead; otherwise what the upstream allocator threw, against its contract
     */
    public @Nullable Throwable giveBack(long address, long byteSize, DevicePart part) {
        final DeviceCall call = AllocatorEvents.shrinking(info, part, byteSize);
        Throwable failure = null;
        try {
            allocator.free(address);
        } catch (Throwable e) {
            failure = e;
        }
        call.end(failure == null, address);
        if (failure != null) {
            log(address, byteSize, failure);
        }
        return isDead(failure) ? null : failure;
    }

    private static boolean isDead(@Nullable Throwable failure) {
        return failure instanceof DeviceException || failure instanceof InvalidFreeException;
    }

    /** Logs, if that is possible: the memory that the message is about comes first. */
    private void log(long address, long byteSize, Throwable failure) {
        final long number = logLimit.next();
        if (number == 0) {
            return;
        }
        try {
            LOG.log(
                    Level.WARNING,
                    "{0}: the free of {1} bytes at 0x{2} failed, {3}: {4}{5}",
                    info,
                    Long.toString(byteSize),
                    Long.toHexString(address),
                    failure instanceof DeviceException ? "they count as returned" : "they stay held until the close",
                    Failures.describe(failure),
                    LogLimit.suffix(number));
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }

    /** Returns the bytes that a reserve takes: whole pages, if it lies on pages. */
    public long reserveBytes(long byteSize) {
        return paged.isPresent() ? paged.get().roundUp(byteSize) : byteSize;
    }

    /** Returns the reserves that lie on pages, whose calls are to be made as those of the upstream allocator. */
    public Optional<ReservePages> paged() {
        return paged;
    }

    /** Gives a reserve pages. Returns its address. */
    public long map(ReservePages on, long address, long byteSize, RemappableReserves.Part parts) {
        return during(
                AllocatorEvents.growing(info, DevicePart.RESERVE, byteSize), address, () -> on.map(address, parts));
    }

    /** Takes the pages of a reserve away. Returns its address. */
    public long unmap(ReservePages on, long address, long byteSize) {
        return during(AllocatorEvents.shrinking(info, DevicePart.RESERVE, byteSize), address, () -> on.unmap(address));
    }

    private static long during(DeviceCall call, long address, Runnable work) {
        boolean isDone = false;
        try {
            work.run();
            isDone = true;
            return address;
        } finally {
            call.end(isDone, address);
        }
    }

    /** Returns the bytes that the upstream allocator's device did not take back. Does not wait for the device. */
    public long unreturnedBytes() {
        return unreturned == null ? 0 : unreturned.unreturnedBytes();
    }

    /** Has that memory offered to the device again, and returns the bytes that it has taken back. */
    public long returnAgain() {
        return unreturned == null || unreturned.unreturnedBytes() == 0 ? 0 : unreturned.returnAgain();
    }

    /** Returns what gives equal reserves one copy; {@code null} if the upstream allocator cannot. */
    public @Nullable PagedReserves reserves() {
        return reserves;
    }

    /** Returns the bytes that live reserves with one copy save. */
    public long sharedBytes() {
        return reserves == null ? 0 : reserves.sharedBytes();
    }

    /** Returns the same with what whole pages add. */
    public long sharedHeldBytes() {
        return paged.isPresent() ? paged.get().sharedPageBytes() : sharedBytes();
    }

    /** Returns the upstream allocator's own counters of both; none of what it does not report. */
    public List<AllocatorStats.Counter> counters() {
        final List<AllocatorStats.Counter> counters = new ArrayList<>();
        if (unreturned != null) {
            allocator.stats().counters().stream()
                    .filter(counter -> COUNTERS.contains(counter.name()))
                    .map(counter -> counter.name().equals("unreturnedBytes")
                            ? new AllocatorStats.Counter(
                                    counter.name(), unreturnedBytes(), counter.unit(), counter.isMonotone())
                            : counter)
                    .forEach(counters::add);
        }
        if (reserves != null) {
            counters.add(new AllocatorStats.Counter("sharedBytes", sharedBytes(), AllocatorStats.Unit.BYTES, false));
        }
        paged.ifPresent(of -> counters.add(
                new AllocatorStats.Counter("asleepBytes", of.asleepBytes(), AllocatorStats.Unit.BYTES, false)));
        return counters;
    }
}
