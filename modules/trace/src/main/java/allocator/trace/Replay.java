package allocator.trace;

import allocator.runtime.AllocatorReport;
import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderDevice;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;

/**
 * Replays traces through sessions on one device, and measures memory and time.
 *
 * <p>Every event is the call that a user of a session makes: {@link ManagedAllocator#allocOnStream} with the run's
 * stream of that number where the allocator orders memory on streams, {@link ManagedAllocator#alloc} elsewhere, and
 * {@link ManagedAllocator#reserve} for memory that was reserved, and {@link ManagedAllocator#free}. Memory is not
 * touched. The session has an allocator instance of its own (option {@code arena.exclusive}) if the provider can create
 * one, so that the counts are those of a new allocator, independent of other users of the provider.
 *
 * <p>An allocation that fails for lack of memory is counted and its free skipped. Any other failure ends the replay and
 * frees its blocks.
 *
 * <p>{@link ReplayResult} defines what is measured. Safe for use by any thread, but concurrent replays disturb one
 * another's timing.
 */
public final class Replay {
    /** Code counts as warmed up after this many events, or this much time. */
    private static final long WARM_UP_EVENTS = 3_000_000;

    private static final long WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

    /** Replays of which the median is taken, unless they take longer than {@link #ROUNDS_NANOS}. */
    private static final int ROUNDS = 11;

    private static final int FEWEST_ROUNDS = 3;
    private static final long ROUNDS_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** Where each part of a measurement begins, as a fraction of the whole; for progress only. */
    private static final double WARM_UP_BEGINS = 0.1;

    private static final double COLD_BEGINS = 0.5;
    private static final double WARM_BEGINS = 0.8;

    /** The origin of settings that a replay adds. */
    private static final String ORIGIN = "replay";

    private final Environment environment;
    private final ProviderDevice device;
    private final AllocatorOptions settings;
    private final SessionOptions options;

    /**
     * Prepares replays.
     *
     * @param environment the environment, which must stay open
     * @param device the device to replay on, one of {@link Environment#devices}
     * @param given settings of the allocator by the provider's own keys, such as {@code arena.max_mem}
     */
    public Replay(Environment environment, ProviderDevice device, AllocatorOptions given) {
        this.environment = environment;
        this.device = device;
        final boolean canBeExclusive = environment.optionKeys(device.provider()).stream()
                .anyMatch(key -> key.name().equals(OptionKey.EXCLUSIVE.name()));
        settings = canBeExclusive
                ? given.with(OptionKey.EXCLUSIVE.name(), OptionKey.EXCLUSIVE.format(true), ORIGIN)
                : given;
        final SessionOptions.Builder builder =
                SessionOptions.builder().name("replay").device(device);
        final String prefix = "ep." + device.provider().toLowerCase(Locale.ROOT) + ".";
        settings.toMap().forEach((key, value) -> builder.option(prefix + key, value));
        options = builder.build();
    }

    /**
     * Replays a trace once.
     *
     * @param trace the trace
     * @param listener receives the progress
     * @return the result; {@link ReplayResult#nsPerEventCold} and {@link ReplayResult#nsPerEventWarm} are
     *     {@link Double#NaN}
     * @throws AllocatorException if the settings are not understood or the device fails
     */
    public ReplayResult once(Trace trace, ReplayListener listener) {
        final ReplayPass pass = new ReplayPass(trace);
        try (Session session = environment.openSession(options)) {
            final ManagedAllocator allocator = session.allocator();
            session.run(RunOptions.DEFAULT, run -> pass.execute(run, done -> listener.progress(done, "replaying")));
            return result(trace, pass, allocator, allocator.shrink().held());
        }
    }

    private ReplayResult result(
            Trace trace, ReplayPass pass, ManagedAllocator allocator, List<ShrinkReport.Held> stays) {
        final AllocatorStats atEnd = pass.statsAtEnd();
        final AllocatorStats afterShrink = allocator.stats();
        return new ReplayResult(
                trace.name(),
                device.provider(),
                allocator.info().location().toString(),
                withOrigins(allocator.report()),
                isCounted(trace, pass),
                trace.eventCount(),
                trace.allocationCount(),
                trace.eventCount() - trace.allocationCount(),
                pass.failedAllocations(),
                pass.peakRequestedBytes(),
                atEnd.peakBytesInUse(),
                atEnd.peakBytesHeld(),
                atEnd.bytesInUse(),
                atEnd.bytesHeld(),
                pass.liveBlocks(),
                atEnd.maxAllocSize(),
                atEnd.numArenaExtensions(),
                afterShrink.numArenaShrinkages(),
                afterShrink.bytesHeld(),
                stays,
                atEnd.counters(),
                pass.nanosPerEvent(),
                Double.NaN,
                Double.NaN,
                OptionalLong.empty());
    }

    /** Returns whether the allocator counts what the trace did; one without statistics returns no number but zeros. */
    private static boolean isCounted(Trace trace, ReplayPass pass) {
        return trace.allocationCount() == pass.failedAllocations()
                || !pass.statsAtEnd().equals(AllocatorStats.NONE);
    }

    /** Replaces the origin "session" of the given settings by where they were given to the replay. */
    private AllocatorReport withOrigins(AllocatorReport report) {
        final List<Setting> origins = report.settings().stream()
                .map(setting -> settings.keys().contains(setting.key())
                        ? new Setting(
                                setting.key(),
                                setting.requested(),
                                setting.effective(),
                                settings.origin(setting.key()),
                                setting.why())
                        : setting)
                .toList();
        return new AllocatorReport(report.memory(), report.provider(), report.owner(), report.source(), origins);
    }

    /**
     * Replays a trace as often as it takes to measure all of {@link ReplayResult}: a few dozen times, a few seconds.
     *
     * @param trace the trace
     * @param listener receives the progress
     * @return the result
     * @throws AllocatorException if the settings are not understood or the device fails
     */
    public ReplayResult measure(Trace trace, ReplayListener listener) {
        return measure(List.of(this), trace, listener).getFirst();
    }

    /**
     * Measures a trace with several settings. Each step is made with all of them before the next step begins, so that
     * they are timed in code that was compiled for all of them. They share the time that one of them takes alone, but
     * for the first replays and the fewest that a median needs.
     *
     * @param replays the replays
     * @param trace the trace
     * @param listener receives the progress
     * @return the result of each, in the same order
     * @throws AllocatorException if the settings are not understood or the device fails
     */
    public static List<ReplayResult> measure(List<Replay> replays, Trace trace, ReplayListener listener) {
        final int count = replays.size();
        final List<ReplayResult> firsts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            firsts.add(replays.get(i).once(trace, part(listener, 0, WARM_UP_BEGINS, i, count)));
        }
        for (int i = 0; i < count; i++) {
            replays.get(i).warmUp(trace, count, part(listener, WARM_UP_BEGINS, COLD_BEGINS, i, count));
        }
        final double[] cold = new double[count];
        for (int i = 0; i < count; i++) {
            cold[i] = replays.get(i).cold(trace, count, part(listener, COLD_BEGINS, WARM_BEGINS, i, count));
        }
        final List<ReplayResult> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            final ReplayPass pass = new ReplayPass(trace);
            final double warm = replays.get(i).warm(pass, count, part(listener, WARM_BEGINS, 1, i, count));
            results.add(firsts.get(i).withTimes(cold[i], warm, pass.rise(ReplayResult.PAGE_MAPS)));
        }
        return results;
    }

    /** Returns a listener of the progress of one of several equal shares of a step. */
    private static ReplayListener part(ReplayListener listener, double from, double to, int index, int count) {
        return (done, step) -> listener.progress(from + (to - from) * (index + done) / count, step);
    }

    /** Lets the JVM compile what a replay runs, the growth of an arena included. */
    private void warmUp(Trace trace, int shares, ReplayListener listener) {
        final ReplayPass pass = new ReplayPass(trace);
        final long begin = System.nanoTime();
        long events = 0;
        double done = 0;
        while (done < 1) {
            try (Session session = environment.openSession(options)) {
                // Several runs in a session: on a small trace, opening one would take most of the time.
                for (int i = 0; i < 4 && done < 1; i++) {
                    session.run(RunOptions.DEFAULT, run -> pass.execute(run, Replay::ignore));
                    events += Math.max(1, trace.eventCount());
                    final long nanos = System.nanoTime() - begin;
                    done = shares * Math.max((double) events / WARM_UP_EVENTS, (double) nanos / WARM_UP_NANOS);
                    listener.progress(Math.min(1, done), "warming up");
                }
            }
        }
    }

    /** Measures rounds that each have a new session, and so an empty arena. */
    private double cold(Trace trace, int shares, ReplayListener listener) {
        final ReplayPass pass = new ReplayPass(trace);
        return median("measuring cold", shares, listener, () -> {
            try (Session session = environment.openSession(options)) {
                session.run(RunOptions.DEFAULT, run -> pass.execute(run, Replay::ignore));
            }
            return pass.nanosPerEvent();
        });
    }

    /** Measures rounds in one session; the first fills the arena and does not count. */
    private double warm(ReplayPass pass, int shares, ReplayListener listener) {
        try (Session session = environment.openSession(options)) {
            session.run(RunOptions.DEFAULT, run -> pass.execute(run, Replay::ignore));
            return median("measuring warm", shares, listener, () -> {
                session.run(RunOptions.DEFAULT, run -> pass.execute(run, Replay::ignore));
                return pass.nanosPerEvent();
            });
        }
    }

    private static void ignore(double done) {}

    private static double median(String step, int shares, ReplayListener listener, DoubleSupplier round) {
        final long begin = System.nanoTime();
        final double[] times = new double[ROUNDS];
        int count = 0;
        while (count < FEWEST_ROUNDS || (count < ROUNDS && System.nanoTime() - begin < ROUNDS_NANOS / shares)) {
            times[count++] = round.getAsDouble();
            listener.progress((double) count / ROUNDS, step);
        }
        Arrays.sort(times, 0, count);
        return (times[(count - 1) / 2] + times[count / 2]) / 2;
    }
}
