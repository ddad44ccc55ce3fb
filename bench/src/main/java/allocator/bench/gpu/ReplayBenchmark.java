package allocator.bench.gpu;

import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorOptions;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.trace.Replay;
import allocator.trace.ReplayResult;
import allocator.trace.Trace;
import allocator.trace.TraceException;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Replays a trace through one provider: through a session as {@code allocator replay} does, and by calling the provider
 * directly. Memory is not touched.
 *
 * <p>Arguments: results file, provider, trace: a file or the name of a bundled one. Start a JVM for each trace, so that
 * the first replay is the first in its JVM.
 */
public final class ReplayBenchmark {
    private static final int WARM_UP_ROUNDS = 200;
    private static final long WARM_UP_NANOS = 1_500_000_000L;
    private static final int ROUNDS = 11;
    private static final long ROUNDS_NANOS = 1_500_000_000L;

    private final Trace trace;
    private final long[] addresses;

    private ReplayBenchmark(Trace trace) {
        this.trace = trace;
        addresses = new long[trace.slotCount()];
    }

    /**
     * Runs the benchmark.
     *
     * @param args results file, provider, trace
     * @throws Exception if the trace cannot be read
     */
    public static void main(String[] args) throws Exception {
        final Path file = Path.of(args[0]);
        final String provider = args[1];
        final Trace trace = load(args[2]);
        final String workload = workload(trace);
        throughASession(provider, trace, new Results(file, provider), workload);
        new ReplayBenchmark(trace).directly(provider, new Results(file, provider + " direct"), workload);
    }

    /** Reads a file, as {@code allocator replay} does, or a bundled trace if there is no such file. */
    static Trace load(String name) throws TraceException {
        final Path file = Path.of(name);
        return Files.exists(file) || !Trace.bundledNames().contains(name) ? Trace.read(file) : Trace.bundled(name);
    }

    /** Returns a trace's name as the results have it: up to the first dot, as the rivals do, without commas. */
    static String workload(Trace trace) {
        return trace.name().replaceFirst("\\..*", "").replace(',', '_');
    }

    private static void throughASession(String provider, Trace trace, Results results, String workload) {
        try (Environment environment = Environment.builder().build()) {
            final ProviderDevice device = environment.devices().stream()
                    .filter(candidate -> candidate.provider().equals(provider))
                    .findFirst()
                    .orElseThrow(
                            () -> new IllegalStateException(provider + " has no device: " + environment.providers()));
            final ReplayResult result =
                    new Replay(environment, device, AllocatorOptions.EMPTY).measure(trace, (done, step) -> {});
            results.add(workload, 1, "ns_per_event_first", result.nsPerEventFirst());
            results.add(workload, 1, "ns_per_event_cold", result.nsPerEventCold());
            results.add(workload, 1, "ns_per_event_warm", result.nsPerEventWarm());
            results.add(workload, 1, "peak_held_bytes", (double) result.peakHeldBytes());
            results.add(workload, 1, "peak_requested_bytes", (double) result.peakRequestedBytes());
            results.add(workload, 1, "failed_allocations", result.failedAllocations());
        }
    }

    private void directly(String name, Results results, String workload) {
        try (Provider provider = Provider.open(name)) {
            final SyncStream[] streams = new SyncStream[trace.streamCount()];
            Arrays.setAll(streams, stream -> provider.stream());
            warmUp(provider, streams);
            results.add(workload, 1, "ns_per_event_cold", cold(provider, streams));
            final StreamAwareAllocator allocator = provider.allocator();
            pass(allocator, streams);
            results.add(workload, 1, "ns_per_event_warm", median(() -> pass(allocator, streams)));
            results.add(workload, 1, "heap_bytes_per_event", heapBytes(allocator, streams));
            provider.release(allocator);
            for (SyncStream stream : streams) {
                stream.close();
            }
        }
    }

    private void warmUp(Provider provider, SyncStream[] streams) {
        final long begin = System.nanoTime();
        for (int round = 0; round < WARM_UP_ROUNDS && System.nanoTime() - begin < WARM_UP_NANOS; round++) {
            final StreamAwareAllocator allocator = provider.allocator();
            pass(allocator, streams);
            provider.release(allocator);
        }
    }

    private double cold(Provider provider, SyncStream[] streams) {
        return median(() -> {
            final StreamAwareAllocator allocator = provider.allocator();
            final long nanos = pass(allocator, streams);
            provider.release(allocator);
            return nanos;
        });
    }

    /** One replay's time; ends with nothing live and all streams idle and untied, as a run ends. */
    private long pass(StreamAwareAllocator allocator, SyncStream[] streams) {
        final long start = System.nanoTime();
        final int count = trace.eventCount();
        for (int event = 0; event < count; event++) {
            final int slot = trace.slot(event);
            if (trace.isAllocation(event)) {
                addresses[slot] = allocator.allocOnStream(trace.byteSize(event), streams[trace.stream(event)]);
            } else {
                allocator.free(addresses[slot]);
                addresses[slot] = 0;
            }
        }
        final long nanos = System.nanoTime() - start;
        for (int slot = 0; slot < addresses.length; slot++) {
            allocator.free(addresses[slot]);
            addresses[slot] = 0;
        }
        for (SyncStream stream : streams) {
            stream.onSessionRunEnd();
        }
        return nanos;
    }

    /** What a pass takes of the Java heap, per event; the ends of runs are in it, and a few objects of theirs. */
    private double heapBytes(StreamAwareAllocator allocator, SyncStream[] streams) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long before = threads.getCurrentThreadAllocatedBytes();
        final int passes = 10;
        for (int i = 0; i < passes; i++) {
            pass(allocator, streams);
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / (double) passes / trace.eventCount();
    }

    private interface Round {
        long nanos();
    }

    /** Nanoseconds per event, the median of several rounds. */
    private double median(Round round) {
        final long begin = System.nanoTime();
        final long[] times = new long[ROUNDS];
        int count = 0;
        while (count < 3 || (count < ROUNDS && System.nanoTime() - begin < ROUNDS_NANOS)) {
            times[count++] = round.nanos();
        }
        Arrays.sort(times, 0, count);
        return (times[(count - 1) / 2] + times[count / 2]) / 2.0 / trace.eventCount();
    }
}
