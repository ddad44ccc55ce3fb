package allocator.conformance.rules.streams;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Rule T-08: the same program holds the same on one stream as without streams. */
public abstract class OneStreamRules extends Chapter {
    /** Regions may be at other addresses in each run, and decide where a block goes; so a difference has to repeat. */
    private static final int RUNS = 3;

    @ConformanceTest
    void required_T08_oneStreamHoldsNoMoreThanNone(Subject subject) {
        requireSame(subject, Map.of(), new Program(subject.random("T-08"), 300, 30, 19));
    }

    /**
     * Few blocks in the first regions, of sizes about theirs: a request is served by what the stream has freed together
     * with what no request has used, or was freed before another event, or it is not and a region more is held.
     */
    @ConformanceTest
    void required_T08_whatAStreamFreedServesItWithWhatIsUnused(Subject subject) {
        for (int i = 0; i < subject.times(60, 20) && subject.hasTime(); i++) {
            final boolean isSmall = i % 3 == 2;
            requireSame(
                    subject,
                    isSmall ? subject.manyRegions() : Map.of(),
                    new Program(subject.random("T-08 few " + i), 16, 1 + i % 4, isSmall ? 15 : 20));
        }
    }

    /**
     * A program that allocates and frees.
     *
     * @param random gives the same numbers to each run, which splits it
     * @param steps how many calls it makes
     * @param most the most blocks that are live
     * @param bits blocks have fewer bytes than 2 to this power
     */
    private record Program(SplittableRandom random, int steps, int most, int bits) {}

    /** What is held after a step, and what the step was. */
    private record Step(long held, String text) {}

    private static void requireSame(Subject subject, Map<String, String> options, Program program) {
        final long seed = program.random.nextLong();
        String difference = "";
        for (int i = 0; i < RUNS; i++) {
            difference = difference(subject, options, program, seed);
            if (difference.isEmpty()) {
                return;
            }
        }
        Expect.that(false, "%s", difference);
    }

    /** Runs a program without streams and on one, and describes where they differ; empty if they do not. */
    private static String difference(Subject subject, Map<String, String> options, Program program, long seed) {
        final Allocator plain = subject.allocator(options);
        subject.requireArena(plain);
        final List<Step> without = play(program, new SplittableRandom(seed), plain, null);
        subject.release(plain);
        final StreamAwareAllocator streamed = subject.streamAware(subject.allocator(options));
        subject.requireArena(streamed);
        final SyncStream stream = subject.stream();
        final List<Step> with = play(program, new SplittableRandom(seed), streamed, stream);
        stream.close();
        subject.release(streamed);
        // What goes back by itself need not be the same: on a stream, work may be queued that uses it.
        for (int i = 0; i < without.size() && !isReturned(without, i) && !isReturned(with, i); i++) {
            if (!without.get(i).equals(with.get(i))) {
                return String.format(
                        Locale.ROOT,
                        "the same program holds %d bytes after step %d (%s) without streams, and %d with one stream;"
                                + " the steps before: %s",
                        without.get(i).held,
                        i,
                        without.get(i).text,
                        with.get(i).held,
                        without.subList(Math.max(0, i - 15), i).stream()
                                .map(Step::text)
                                .toList());
            }
        }
        return "";
    }

    private static boolean isReturned(List<Step> history, int step) {
        return step > 0 && history.get(step).held < history.get(step - 1).held;
    }

    /** Runs a program, on a stream or without. On a stream, events are recorded between the steps. */
    private static List<Step> play(
            Program program, SplittableRandom random, Allocator allocator, @Nullable SyncStream stream) {
        final List<Step> history = new ArrayList<>();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < program.steps; i++) {
            final boolean isFree = live.size() >= program.most || (!live.isEmpty() && random.nextInt(100) < 45);
            final int index = random.nextInt(Math.max(1, live.size()));
            final long byteSize =
                    1 + random.nextLong(1L << (i % 2 == 0 ? random.nextInt(1, program.bits) : program.bits));
            final String text = isFree ? "free the one after " + index : "alloc " + byteSize;
            if (isFree) {
                allocator.free(live.remove(index));
            } else {
                live.add(
                        stream != null
                                        && allocator
                                                        .as(StreamAwareAllocator.class)
                                                        .orElse(null)
                                                instanceof StreamAwareAllocator streamAware
                                ? streamAware.allocOnStream(byteSize, stream)
                                : allocator.alloc(byteSize));
            }
            history.add(new Step(allocator.stats().bytesHeld(), text));
            if (stream != null && i % 3 == 2) {
                record(stream);
            }
        }
        live.forEach(allocator::free);
        return history;
    }

    private static void record(SyncStream stream) {
        try (SyncNotification notification = stream.createNotification()) {
            notification.activate();
        }
    }
}
