package allocator.bench.gpu;

import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorStats;
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
 * <p>Arguments: results file, provider, trace, and the policy of the arena if it is not the default. A trace is a file
 * or the name of a bundled one. Start a JVM for each trace, so that the first replay is the first in its JVM.
 *
 * <p>With {@code --direct} before these there is no session, and the first direct replay is measured.
 * {@link OrtProvider} has no other way.
 */
public final class ReplayBenchmark {
    private static final int WARM_UP_ROUNDS = 200;
    private static final long WARM_UP_NANOS = 1_500_000_000L;
    private static final int ROUNDS = 11;
    private static final long ROUNDS_NANOS = 1_500_000_000L;
    private static final int SETTLED_ROUNDS = 10;

    private final Trace trace;
    private final Policy policy;

    private ReplayBenchmark(Trace trace, Policy policy) {
        this.trace = trace;
        this.policy = policy;
    }

    public static void main(String[] arguments) throws Exception {
        final boolean isDirect = arguments[0].equals("--direct");
        final String[] args = isDirect ? Arrays.copyOfRange(arguments, 1, arguments.length) : arguments;
        final Path file = Path.of(args[0]);
        final Policy policy = Policy.of(args[1], args, 3);
        final Trace trace = load(args[2]);
        final String workload = workload(trace);
        final ReplayBenchmark benchmark = new ReplayBenchmark(trace, policy);
        final Results direct = new Results(file, policy.subject() + " direct");
        if (!isDirect) {
            benchmark.throughASession(new Results(file, policy.subject()), workload);
        }
        benchmark.directly(direct, workload, isDirect);
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

    private void throughASession(Results results, String workload) {
        try (Environment environment = Environment.builder().build()) {
            final ProviderDevice device = environment.devices().stream()
                    .filter(candidate -> candidate.provider().equals(policy.provider()))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException(
                            policy.provider() + " has no device: " + environment.providers()));
            final ReplayResult result =
                    new Replay(environment, device, policy.options()).measure(trace, (done, step) -> {});
            results.add(workload, 1, "ns_per_event_first", result.nsPerEventFirst());
            results.add(workload, 1, "ns_per_event_cold", result.nsPerEventCold());
            results.add(workload, 1, "ns_per_event_warm", result.nsPerEventWarm());
            results.add(workload, 1, "peak_held_bytes", (double) result.peakHeldBytes());
            results.add(workload, 1, "peak_requested_bytes", (double) result.peakRequestedBytes());
            results.add(workload, 1, "failed_allocations", result.failedAllocations());
        }
    }

    private void directly(Results results, String workload, boolean isFirst) {
        try (Provider provider = Provider.open(policy.provider())) {
            final SyncStream[] streams = new SyncStream[trace.streamCount()];
            Arrays.setAll(streams, stream -> provider.stream());
            final DirectReplay replay = new DirectReplay(trace, streams);
            if (isFirst) {
                results.add(workload, 1, "ns_per_event_first", fresh(provider, replay) / (double) trace.eventCount());
                compile(provider, replay);
            }
            warmUp(provider, replay);
            results.add(workload, 1, "ns_per_event_cold", median(() -> fresh(provider, replay)));
            final StreamAwareAllocator allocator = provider.allocator(policy.options());
            replay.pass(allocator);
            results.add(workload, 1, "ns_per_event_warm", median(() -> replay.pass(allocator)));
            settled(allocator, replay, results, workload);
            provider.release(allocator);
            for (SyncStream stream : streams) {
                stream.close();
            }
        }
    }

    /** Lets the JVM compile what a replay calls; a session has done so before where there was one. */
    private void compile(Provider provider, DirectReplay replay) {
        final StreamAwareAllocator allocator = provider.allocator(policy.options());
        final long begin = System.nanoTime();
        while (System.nanoTime() - begin < WARM_UP_NANOS) {
            replay.pass(allocator);
        }
        provider.release(allocator);
    }

    private void warmUp(Provider provider, DirectReplay replay) {
        final long begin = System.nanoTime();
        for (int round = 0; round < WARM_UP_ROUNDS && System.nanoTime() - begin < WARM_UP_NANOS; round++) {
            fresh(provider, replay);
        }
    }

    /** One replay's time with an allocator of its own. */
    private long fresh(Provider provider, DirectReplay replay) {
        final StreamAwareAllocator allocator = provider.allocator(policy.options());
        final long nanos = replay.pass(allocator);
        provider.release(allocator);
        return nanos;
    }

    /** What further replays take of the Java heap, ends of runs included, and of pages; and the peak after all. */
    private void settled(StreamAwareAllocator allocator, DirectReplay replay, Results results, String workload) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final AllocatorStats before = allocator.stats();
        final long heapBefore = threads.getCurrentThreadAllocatedBytes();
        for (int round = 0; round < SETTLED_ROUNDS; round++) {
            replay.pass(allocator);
        }
        final long heapBytes = threads.getCurrentThreadAllocatedBytes() - heapBefore;
        final AllocatorStats after = allocator.stats();
        final long events = (long) SETTLED_ROUNDS * trace.eventCount();
        results.add(workload, 1, "heap_bytes_per_event", heapBytes / (double) events);
        results.add(workload, 1, "peak_held_bytes", (double) after.peakBytesHeld());
        Pages.add(results, workload, 1, before, after, SETTLED_ROUNDS, events);
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
