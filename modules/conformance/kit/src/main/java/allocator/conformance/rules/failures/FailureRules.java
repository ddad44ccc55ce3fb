package allocator.conformance.rules.failures;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** Each device call of a program fails in turn, and the allocator must stay usable. */
public abstract class FailureRules extends Chapter {
    private static final int MAX_CALLS = 400;

    @ConformanceTest
    void required_A07_eachDeviceCallMayFail(Subject subject) {
        subject.requireProbe();
        try {
            playWithFailure(subject, Long.MAX_VALUE);
        } catch (AssertionFailedError fault) {
            throw Expect.skip("the program fails even if no device call does; other rules report why");
        }
        for (int k = 1; k <= MAX_CALLS; k++) {
            if (playWithFailure(subject, k)) {
                return;
            }
        }
    }

    @ConformanceTest
    void required_A07_nothingIsLostWhateverADeviceCallThrows(Subject subject) {
        for (final Thrown thrown : Thrown.values()) {
            if (thrown != Thrown.HEAP) {
                requireNothingLost(subject, thrown);
            }
        }
    }

    @ConformanceTest
    void optional_A07_nothingIsLostWhereTheJavaHeapEnds(Subject subject) {
        requireNothingLost(subject, Thrown.HEAP);
    }

    private static void requireNothingLost(Subject subject, Thrown thrown) {
        Refusals.require(subject);
        requireSoundWithoutFailures(subject);
        final SplittableRandom random = subject.random("whatever a device call throws");
        for (final boolean isLasting : new boolean[] {false, true}) {
            int k = 1;
            while (k <= MAX_CALLS && !playWith(subject, thrown, k, isLasting)) {
                k += subject.times(1, 1 + random.nextInt(12));
            }
        }
    }

    /** Runs the program with failures from its k-th device call; returns whether it made fewer calls than that. */
    private static boolean playWith(Subject subject, Thrown thrown, int k, boolean isLasting) {
        final DeviceProbe probe = subject.requireProbe();
        final Allocator allocator = subject.allocator();
        final FaultProgram program = new FaultProgram(subject, allocator, stream(subject, allocator));
        final long failing = probe.calls() + k;
        probe.failCalls(failing, isLasting, () -> thrown.raise(subject.memory()));
        program.playAll();
        probe.failCalls(0, false, () -> {});
        final boolean isOver = probe.calls() < failing;
        program.requireNothingLost("after device call " + k + (isLasting ? " and all that followed" : "")
                + " had thrown " + thrown + ", ");
        return isOver;
    }

    /** Skips a test whose program fails without failures. Initializes the classes that the program needs. */
    private static void requireSoundWithoutFailures(Subject subject) {
        try {
            final Allocator allocator = subject.allocator();
            final FaultProgram program = new FaultProgram(subject, allocator, stream(subject, allocator));
            program.playAll();
            program.requireNothingLost("");
        } catch (AssertionFailedError | RuntimeException fault) {
            throw Expect.skip("the program fails even if no call does; other rules report why");
        }
    }

    private static @Nullable SyncStream stream(Subject subject, Allocator allocator) {
        return subject.ifStreamAware(allocator).isPresent() ? subject.stream() : null;
    }

    /** Runs the program with its k-th device call failing; returns whether it made fewer calls than that. */
    private static boolean playWithFailure(Subject subject, long k) {
        final DeviceProbe probe = subject.requireProbe();
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        final SyncStream stream = stream(subject, allocator);
        final Map<Long, Long> live = new HashMap<>();
        final long failing = k == Long.MAX_VALUE ? k : probe.calls() + k;
        probe.failCall(failing);
        play(allocator, stream, live);
        probe.failCall(0);
        final boolean isOver = probe.calls() < failing;
        final String after = "after device call " + k + " of a program had failed, ";
        AfterFailure.requireUsable(subject, allocator, live, counts, 2_000_000, after);
        if (stream != null) {
            stream.close();
        }
        subject.release(allocator);
        Expect.that(
                subject.heldByDevice(0) == 0,
                "%s%d bytes are still taken from the device after the last release",
                after,
                subject.heldByDevice(0));
        return isOver;
    }

    /** Makes every call that may reach the device. A call may fail, with a message. */
    private static void play(Allocator allocator, @Nullable SyncStream stream, Map<Long, Long> live) {
        final List<Runnable> steps = new ArrayList<>();
        final boolean reserves = allocator.spiLevel() >= SpiLevel.RESERVE;
        for (final long byteSize : new long[] {1000, 3_000_000, 70_000}) {
            steps.add(() -> live.put(allocator.alloc(byteSize), byteSize));
            if (reserves) {
                steps.add(() -> live.put(allocator.reserve(byteSize), byteSize));
            }
            if (stream != null
                    && allocator.as(StreamAwareAllocator.class).orElse(null)
                            instanceof StreamAwareAllocator streamAware) {
                steps.add(() -> live.put(streamAware.allocOnStream(byteSize, stream), byteSize));
                steps.add(() -> allocator.free(streamAware.allocOnStream(byteSize, stream)));
                steps.add(stream::onSessionRunEnd);
            }
        }
        steps.add(() -> allocator.free(allocator.alloc(9_000_000)));
        steps.add(() -> Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink));
        if (reserves) {
            steps.add(() -> allocator.free(allocator.reserve(9_000_000)));
        }
        for (final Runnable step : steps) {
            try {
                step.run();
            } catch (AllocatorException failed) {
                Expect.that(failed.getMessage() != null, "a device call failed, and the exception has no message");
            }
        }
    }
}
