package allocator.conformance.rules.failures;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.SyncStream;
import java.util.SplittableRandom;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** Each device call of a program fails in turn, and the allocator must stay usable. */
public abstract class FailureRules extends Chapter {
    private static final int MAX_CALLS = 400;

    @ConformanceTest
    void required_A07_eachDeviceCallMayFail(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        requireSoundWithoutFailures(subject);
        int k = 1;
        while (k <= MAX_CALLS && !playWith(subject, AllocatorException.class, k, probe::failCall, " had failed, ")) {
            k++;
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
        final DeviceProbe probe = Refusals.require(subject);
        requireSoundWithoutFailures(subject);
        final SplittableRandom random = subject.random("whatever a device call throws");
        for (final boolean isLasting : new boolean[] {false, true}) {
            final String what = (isLasting ? " and all that followed" : "") + " had thrown " + thrown + ", ";
            final LongConsumer fail = call -> probe.failCalls(call, isLasting, () -> thrown.raise(subject.memory()));
            int k = 1;
            while (k <= MAX_CALLS && !playWith(subject, Throwable.class, k, fail, what)) {
                k += subject.times(1, 1 + random.nextInt(12));
            }
        }
    }

    /** Runs the program with failures from its k-th device call; returns whether it made fewer calls than that. */
    private static boolean playWith(
            Subject subject, Class<? extends Throwable> thrown, int k, LongConsumer fail, String what) {
        final DeviceProbe probe = subject.requireProbe();
        final Allocator allocator = subject.allocator();
        final FaultProgram program = new FaultProgram(subject, allocator, stream(subject, allocator), thrown);
        final long failing = probe.calls() + k;
        fail.accept(failing);
        program.playAll();
        fail.accept(0);
        final boolean isOver = probe.calls() < failing;
        program.requireNothingLost("after device call " + k + what);
        return isOver;
    }

    /** Skips a test whose program fails without failures. Initializes the classes that the program needs. */
    private static void requireSoundWithoutFailures(Subject subject) {
        try {
            final Allocator allocator = subject.allocator();
            final FaultProgram program =
                    new FaultProgram(subject, allocator, stream(subject, allocator), Throwable.class);
            program.playAll();
            program.requireNothingLost("");
        } catch (AssertionFailedError | RuntimeException fault) {
            throw Expect.skip("the program fails even if no call does; other rules report why");
        }
    }

    private static @Nullable SyncStream stream(Subject subject, Allocator allocator) {
        return subject.ifStreamAware(allocator).isPresent() ? subject.stream() : null;
    }
}
