package allocator.conformance.subject;

import allocator.conformance.DeviceProbe;
import allocator.conformance.subject.CleanupFindings.Finding;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Releases everything that a test took from its factory, and collects the faults found on the way. */
final class Cleanup {
    private final EpFactory factory;
    private final @Nullable DeviceProbe probe;
    private final String test;
    private final List<Finding> findings = new ArrayList<>();

    /** The rule and the name of the step that runs; read by another thread if it does not return. */
    private volatile Finding step;

    Cleanup(EpFactory factory, @Nullable DeviceProbe probe, String test) {
        this.factory = factory;
        this.probe = probe;
        this.test = test;
        step = new Finding("F-04", test, "cleanup");
        if (probe != null) {
            probe.failCall(0);
            probe.failCalls(0, false, () -> {});
            probe.lag(false);
        }
    }

    /** Checks that nothing is in use, then releases the references. */
    void release(List<Allocator> references) {
        final Set<Allocator> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (final Allocator allocator : references) {
            if (seen.add(allocator) && allocator.spiLevel() >= SpiLevel.STATISTICS) {
                inUse(allocator).ifPresent(fault -> add("S-04", fault));
            }
        }
        for (final Allocator allocator : references) {
            attempt("F-04", "releaseAllocator", () -> {
                factory.releaseAllocator(allocator);
                return null;
            });
        }
    }

    /** Returns a description of what the statistics count as in use; empty if they fail, which other tests report. */
    private static Optional<String> inUse(Allocator allocator) {
        final AllocatorStats stats;
        try {
            stats = allocator.stats();
        } catch (RuntimeException e) {
            return Optional.empty();
        }
        return stats.bytesInUse() == 0 && stats.requestedBytesInUse() == 0
                ? Optional.empty()
                : Optional.of("everything is freed, yet bytesInUse is %d and requestedBytesInUse %d"
                        .formatted(stats.bytesInUse(), stats.requestedBytesInUse()));
    }

    void close(List<SyncStream> streams) {
        for (final SyncStream stream : streams) {
            attempt("T-05", "close of " + stream, () -> {
                stream.close();
                return null;
            });
        }
    }

    /** Checks that the device has all memory back and detected no fault. */
    void checkDevice(Supplier<OptionalLong> bytesHeld) {
        final DeviceProbe device = probe;
        if (device == null) {
            return;
        }
        attempt("F-04", "probe", () -> {
            final long held = bytesHeld.get().orElse(0);
            if (held != 0) {
                add("F-04", held + " bytes are still taken from the device after the last release");
            }
            device.faults().forEach(fault -> add("K-03", "the device detected " + fault));
            return null;
        });
    }

    /** Closes the factory, and returns all findings. */
    List<Finding> closeFactory() {
        attempt("F-09", "close of the factory, with everything returned,", () -> {
            factory.close();
            return null;
        });
        final DeviceProbe device = probe;
        if (device != null) {
            attempt("F-04", "probe", () -> {
                device.leaks().forEach(leak -> add("F-04", "left behind: " + leak));
                return null;
            });
        }
        return findings;
    }

    private void add(String rule, String fault) {
        findings.add(new Finding(rule, test, fault));
    }

    /** Returns the finding that the present step did not return. */
    Finding hang(String message) {
        final Finding current = step;
        return new Finding(current.rule(), test, current.fault() + " " + message);
    }

    private void attempt(String rule, String what, Callable<@Nullable Void> body) {
        step = new Finding(rule, test, what);
        try {
            body.call();
        } catch (Exception | Error failure) {
            add(rule, what + " threw " + Expect.describe(failure));
        }
    }
}
