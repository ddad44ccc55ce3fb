package allocator.runtime.transfer;

import allocator.runtime.transfer.Pipeline.Half;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds a way for a copy: the first provider that copies between the two memories, or else two providers that both
 * reach the same memory of the host, through which the bytes go in pieces. Bytes on the Java heap go through such
 * memory as well, since no device reaches them.
 *
 * <p>A copy is checked before any byte is copied. One through the host is done when the call returns: with a stream,
 * the stream's work is waited for first. Safe for use by several threads.
 */
public final class Router {
    private final List<ProviderTransfer> transfers;
    private final List<StagingMemory> stagings;
    private final Function<MemoryInfo, Optional<LentStream>> streams;

    /** The way through the host: who copies to the memory there, and who from it. */
    private record Detour(StagingMemory staging, ProviderTransfer reading, ProviderTransfer writing) {}

    /** The way between the Java heap and a memory. */
    private record HeapRoute(StagingMemory staging, ProviderTransfer transfer) {}

    /**
     * Prepares copies.
     *
     * @param transfers the copies of each provider, in the order in which they are asked
     * @param pinned memory of the host to be preferred on the way
     * @param streams lends a stream of a memory's device; empty if it has none
     */
    public Router(
            List<ProviderTransfer> transfers,
            List<StagingMemory> pinned,
            Function<MemoryInfo, Optional<LentStream>> streams) {
        this.transfers = List.copyOf(transfers);
        this.streams = streams;
        final List<StagingMemory> all = new ArrayList<>(pinned);
        all.add(StagingMemory.HOST);
        stagings = List.copyOf(all);
    }

    /** {@return whether a copy works between two memories} */
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return direct(source, target).isPresent() || detour(source, target).isPresent();
    }

    private Optional<ProviderTransfer> direct(MemoryInfo source, MemoryInfo target) {
        return transfers.stream()
                .filter(transfer -> transfer.canCopy(source, target))
                .findFirst();
    }

    private Optional<Detour> detour(MemoryInfo source, MemoryInfo target) {
        for (final StagingMemory staging : stagings) {
            final Optional<ProviderTransfer> reading = direct(source, staging.info());
            final Optional<ProviderTransfer> writing = direct(staging.info(), target);
            if (reading.isPresent() && writing.isPresent()) {
                return Optional.of(new Detour(staging, reading.get(), writing.get()));
            }
        }
        return Optional.empty();
    }

    /**
     * Copies between memories.
     *
     * @param stream orders the copy; {@code null} to wait for it
     * @throws UnsupportedMemoryException if there is no way
     * @throws InvalidSizeException if the sizes differ
     */
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        final Optional<ProviderTransfer> direct = direct(source.memory(), target.memory());
        if (direct.isPresent()) {
            requireSameSize(source.byteSize(), target.byteSize());
            direct.get().copy(source, target, stream);
            return;
        }
        final Detour detour =
                detour(source.memory(), target.memory()).orElseThrow(() -> noWay(source.memory(), target.memory()));
        requireSameSize(source.byteSize(), target.byteSize());
        move(
                source.byteSize(),
                detour.staging(),
                stream,
                buffers -> new RangeHalf(detour.reading(), source, true, buffers, lend(source)),
                buffers -> new RangeHalf(detour.writing(), target, false, buffers, lend(target)));
    }

    /** Copies from the host, native bytes or those of the Java heap; otherwise as between memories. */
    public void copy(MemorySegment source, MemoryRange target, @Nullable SyncStream stream) {
        if (source.isNative()) {
            copy(range(source), target, stream);
            return;
        }
        final HeapRoute route = heapRoute(staging -> direct(staging, target.memory()))
                .orElseThrow(() -> noWay(StagingMemory.HOST.info(), target.memory()));
        requireSameSize(source.byteSize(), target.byteSize());
        move(
                target.byteSize(),
                route.staging(),
                stream,
                buffers -> new SegmentHalf(source, true),
                buffers -> new RangeHalf(route.transfer(), target, false, buffers, lend(target)));
    }

    /**
     * Copies to the host, native or on the Java heap; otherwise as between memories.
     *
     * @throws IllegalArgumentException if the target is read-only
     */
    public void copy(MemoryRange source, MemorySegment target, @Nullable SyncStream stream) {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("the segment to copy to is read-only: " + target);
        }
        if (target.isNative()) {
            copy(source, range(target), stream);
            return;
        }
        final HeapRoute route = heapRoute(staging -> direct(source.memory(), staging))
                .orElseThrow(() -> noWay(source.memory(), StagingMemory.HOST.info()));
        requireSameSize(source.byteSize(), target.byteSize());
        move(
                source.byteSize(),
                route.staging(),
                stream,
                buffers -> new RangeHalf(route.transfer(), source, true, buffers, lend(source)),
                buffers -> new SegmentHalf(target, false));
    }

    /** Returns the bytes of a native segment, if this thread may access them. The JDK does not check it for others. */
    private static MemoryRange range(MemorySegment segment) {
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the arena of the segment is closed: " + segment);
        }
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("the segment is confined to another thread: " + segment);
        }
        return new MemoryRange(StagingMemory.HOST.info(), segment.address(), segment.byteSize());
    }

    private Optional<HeapRoute> heapRoute(Function<MemoryInfo, Optional<ProviderTransfer>> transferFor) {
        return stagings.stream()
                .flatMap(staging ->
                        transferFor.apply(staging.info()).map(found -> new HeapRoute(staging, found)).stream())
                .findFirst();
    }

    private Optional<LentStream> lend(MemoryRange range) {
        return streams.apply(range.memory());
    }

    private void move(
            long byteSize,
            StagingMemory staging,
            @Nullable SyncStream stream,
            Function<StagingBuffers, Half> reading,
            Function<StagingBuffers, Half> writing) {
        if (stream != null) {
            stream.flush();
        }
        if (byteSize > 0) {
            Pipeline.move(byteSize, staging, reading, writing);
        }
    }

    private static void requireSameSize(long source, long target) {
        if (source != target) {
            throw new InvalidSizeException(target, "of the target is not the " + source + " of the source");
        }
    }

    private UnsupportedMemoryException noWay(MemoryInfo source, MemoryInfo target) {
        return new UnsupportedMemoryException("cannot copy from " + source + " to " + target
                + ": neither do the providers of the session ("
                + transfers.stream().map(ProviderTransfer::provider).collect(Collectors.joining(", "))
                + ") copy between them, nor do two of them reach the same memory of the host from there");
    }
}
