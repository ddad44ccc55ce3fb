package allocator.view;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderDevice;
import allocator.runtime.Run;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.trace.Trace;
import allocator.view.TraceProfile.Moment;
import allocator.view.TraceProfile.Point;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.DoubleConsumer;

/**
 * Replays a trace once through a session with an allocator of its own, and observes it without changing it. Times are
 * not measured: {@link allocator.trace.Replay} does that.
 */
public final class Profiler {
    /** The most points of a profile. */
    private static final int MOST_POINTS = 4_000;

    /** How many moments a profile has, with the peak. */
    private static final int MOMENTS = 12;

    /** The chunks that the points of one profile list, about: with many live blocks there are fewer points. */
    private static final long MOST_VISITED = 6_000_000;

    /** The points of a profile, if the trace has as many events, however many blocks are live. */
    private static final int LEAST_POINTS = 50;

    /** The most chunks of all moments but the peak. */
    private static final long MOST_KEPT = 60_000;

    private static final long FAILED = -1;
    private static final String ORIGIN = "profile";

    private final Trace trace;
    private final long[] addresses;
    private final List<Point> points = new ArrayList<>();
    private final List<Moment> moments = new ArrayList<>();
    private long requested;
    private long kept;
    private int failures;
    private boolean isListed;

    private Profiler(Trace trace) {
        this.trace = trace;
        addresses = new long[trace.slotCount()];
        Arrays.fill(addresses, FAILED);
    }

    /**
     * Replays a trace.
     *
     * @param trace the trace
     * @param policy the name of the settings, for the profile
     * @param environment the environment, which stays open
     * @param device the device, one of {@link Environment#devices}
     * @param given settings of the allocator by the provider's own keys
     * @param progress receives the fraction that is done
     * @return the profile
     * @throws allocator.spi.AllocatorException if the settings are not understood or the device fails
     */
    public static TraceProfile profile(
            Trace trace,
            String policy,
            Environment environment,
            ProviderDevice device,
            AllocatorOptions given,
            DoubleConsumer progress) {
        final boolean canBeExclusive = environment.optionKeys(device.provider()).stream()
                .anyMatch(key -> key.name().equals(OptionKey.EXCLUSIVE.name()));
        final AllocatorOptions settings = canBeExclusive
                ? given.with(OptionKey.EXCLUSIVE.name(), OptionKey.EXCLUSIVE.format(true), ORIGIN)
                : given;
        final SessionOptions.Builder options =
                SessionOptions.builder().name("profile").device(device);
        final String prefix = "ep." + device.provider().toLowerCase(Locale.ROOT) + ".";
        settings.toMap().forEach((key, value) -> options.option(prefix + key, value));
        final Profiler profiler = new Profiler(trace);
        try (Session session = environment.openSession(options.build())) {
            final AllocatorStats[] stats = new AllocatorStats[1];
            session.run(RunOptions.DEFAULT, run -> {
                try {
                    profiler.replay(run, progress);
                    stats[0] = run.allocator().stats();
                } finally {
                    profiler.freeRest(run.allocator());
                }
            });
            return profiler.result(policy, stats[0]);
        }
    }

    private TraceProfile result(String policy, AllocatorStats stats) {
        return new TraceProfile(
                policy,
                isListed,
                trace.eventCount(),
                points,
                moments,
                points.stream().mapToLong(Point::requested).max().orElse(0),
                stats.peakBytesInUse(),
                stats.peakBytesHeld(),
                failures);
    }

    private void replay(Run run, DoubleConsumer progress) {
        final ManagedAllocator allocator = run.allocator();
        final SyncStream[] streams = streams(run, allocator);
        final int events = trace.eventCount();
        final int count = Math.min(points(trace), events);
        final Spans spans = Spans.of(trace, count);
        int event = 0;
        for (int span = 0; span < count; span++) {
            final int observed = spans.highest(span);
            while (event <= observed) {
                play(event++, allocator, streams);
            }
            observe(allocator, spans, span, count);
            progress.accept((span + 1.0) / count);
        }
        while (event < events) {
            play(event++, allocator, streams);
        }
    }

    /** Returns into how many points a trace is divided: each lists the blocks that are live. */
    private static int points(Trace trace) {
        long live = 0;
        double sum = 0;
        for (int event = 0; event < trace.eventCount(); event++) {
            live += trace.isAllocation(event) ? 1 : -1;
            sum += live;
        }
        final double average = sum / Math.max(1, trace.eventCount());
        return Math.clamp((long) (MOST_VISITED / Math.max(1, average)), LEAST_POINTS, MOST_POINTS);
    }

    private SyncStream[] streams(Run run, ManagedAllocator allocator) {
        // Memory that was freed on the only stream waits for no other.
        if (!allocator.isStreamAware() || !run.hasStreams() || trace.streamCount() == 1) {
            return new SyncStream[0];
        }
        final SyncStream[] streams = new SyncStream[trace.streamCount()];
        Arrays.setAll(streams, run::stream);
        return streams;
    }

    private void play(int event, ManagedAllocator allocator, SyncStream[] streams) {
        final int slot = trace.slot(event);
        final long byteSize = trace.byteSize(event);
        if (trace.isAllocation(event)) {
            try {
                if (trace.isReserve(event)) {
                    addresses[slot] = allocator.reserve(byteSize);
                } else {
                    addresses[slot] = streams.length == 0
                            ? allocator.alloc(byteSize)
                            : allocator.allocOnStream(byteSize, streams[trace.stream(event)]);
                }
                requested += byteSize;
            } catch (OutOfMemoryException e) {
                failures++;
            }
        } else if (addresses[slot] != FAILED) {
            final long address = addresses[slot];
            addresses[slot] = FAILED;
            requested -= byteSize;
            allocator.free(address);
        }
    }

    private void observe(ManagedAllocator allocator, Spans spans, int span, int count) {
        final boolean isPeak = span == spans.peak();
        final boolean isMoment = isPeak || span * (MOMENTS - 1L) / count != (span + 1) * (MOMENTS - 1L) / count;
        final Optional<AllocatorSnapshot> memory = allocator.inspect();
        if (memory.isEmpty()) {
            final AllocatorStats stats = allocator.stats();
            add(spans, span, stats.bytesInUse(), stats.bytesHeld(), stats.freeBytes(), stats.largestFreeChunk());
            return;
        }
        isListed = true;
        final Breakdown sums = Breakdown.of(memory.get());
        final int chunks = memory.get().chunkCount();
        final long largest =
                Math.max(sums.largest(State.FREE), Math.max(sums.largest(State.WAITING), sums.largest(State.CACHED)));
        add(spans, span, sums.bytes(State.LIVE), sums.heldBytes(), sums.reusableBytes(), largest);
        if (isPeak || (isMoment && kept + chunks <= MOST_KEPT)) {
            kept += isPeak ? 0 : chunks;
            moments.add(new Moment(spans.highest(span), memory.get()));
        }
    }

    private void add(Spans spans, int span, long inUse, long held, long free, long largestFree) {
        points.add(new Point(
                spans.highest(span),
                Math.min(requested, spans.least(span)),
                requested,
                inUse,
                held,
                free,
                largestFree));
    }

    private void freeRest(ManagedAllocator allocator) {
        for (int slot = 0; slot < addresses.length; slot++) {
            if (addresses[slot] != FAILED) {
                allocator.free(addresses[slot]);
                addresses[slot] = FAILED;
            }
        }
    }
}
