package allocator.bench.gpu;

import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.MemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderDevice;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.SyncStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * What a budget adds to a warm pair of free and allocation: the limit of a device under a session, and a
 * {@link BudgetResource} over a resource. Each round has all four, each in an environment of its own whose arena is
 * filled first; the figures are medians, and what is added is the median of the rounds' differences.
 *
 * <p>Arguments: results file, provider.
 */
public final class BudgetCost {
    private static final int ROUNDS = 21;
    private static final int WARM_UP_ROUNDS = 4;
    private static final int PASSES = 4;
    private static final long BYTE_ALIGNMENT = 256;

    /** Some twenty times what the arena holds. */
    private static final String LIMIT = "4g";

    private final String provider;
    private final Pairs pairs = new Pairs(0);

    BudgetCost(String provider) {
        this.provider = provider;
    }

    /** What is measured, beside the kind before it where {@code hasBudget}. */
    private enum Kind {
        SESSION("session", false),
        DEVICE_LIMIT("session, device limit", true),
        RESOURCE("resource", false),
        BUDGET_RESOURCE("resource, BudgetResource", true);

        final String title;
        final boolean hasBudget;

        Kind(String title, boolean hasBudget) {
            this.title = title;
            this.hasBudget = hasBudget;
        }
    }

    /** Replaces a block, and returns the new one. */
    private interface Pair {
        long replace(long address, long oldByteSize, long byteSize);
    }

    public static void main(String[] args) {
        new BudgetCost(args[1]).run(Path.of(args[0]), WARM_UP_ROUNDS, ROUNDS);
    }

    void run(Path file, int warmUpRounds, int rounds) {
        final Map<Kind, double[]> nanos = new EnumMap<>(Kind.class);
        // Keeps the device's context between the rounds.
        try (Environment outer = Environment.builder().build()) {
            final ProviderDevice device = device(outer);
            final String key =
                    "device." + device.type().name().toLowerCase(Locale.ROOT) + ":" + device.ordinal() + ".max_mem";
            for (int round = -warmUpRounds; round < rounds; round++) {
                for (Kind kind : Kind.values()) {
                    final double measured = measure(kind, key);
                    if (round >= 0) {
                        nanos.computeIfAbsent(kind, absent -> new double[rounds])[round] = measured;
                    }
                }
            }
        }
        double[] previous = new double[rounds];
        for (Map.Entry<Kind, double[]> entry : nanos.entrySet()) {
            final Kind kind = entry.getKey();
            final double[] own = entry.getValue();
            final Results results = new Results(file, (provider + " " + kind.title).replace(',', ';'));
            results.add(Measurements.PAIRS, 1, "ns_per_warm_pair", median(own));
            if (kind.hasBudget) {
                final double[] without = previous;
                final double[] added = new double[rounds];
                Arrays.setAll(added, round -> own[round] - without[round]);
                results.add(Measurements.PAIRS, 1, "ns_added_by_budget", median(added));
            }
            previous = own;
        }
    }

    private ProviderDevice device(Environment environment) {
        return environment.devices().stream()
                .filter(candidate -> candidate.provider().equals(provider))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(provider + " has no device: " + environment.providers()));
    }

    private double measure(Kind kind, String key) {
        final double[] result = new double[1];
        final String limit = kind == Kind.DEVICE_LIMIT ? LIMIT : "max";
        try (Environment environment = Environment.builder().option(key, limit).build();
                Session session = environment.openSession(
                        SessionOptions.builder().device(device(environment)).build())) {
            session.run(RunOptions.DEFAULT, run -> {
                final ManagedAllocator allocator = run.allocator();
                final SyncStream stream = run.stream(0);
                switch (kind) {
                    case SESSION, DEVICE_LIMIT ->
                        result[0] = time((address, oldByteSize, byteSize) -> {
                            allocator.free(address);
                            return allocator.allocOnStream(byteSize, stream);
                        });
                    case RESOURCE, BUDGET_RESOURCE -> {
                        final MemoryResource plain = new AllocatorResource(allocator);
                        final MemoryResource resource =
                                kind == Kind.RESOURCE ? plain : new BudgetResource(plain, Budget.of("bench", 1L << 40));
                        result[0] = time((address, oldByteSize, byteSize) -> {
                            if (address != 0) {
                                resource.deallocate(address, oldByteSize, BYTE_ALIGNMENT);
                            }
                            return byteSize == 0 ? 0 : resource.allocate(byteSize, BYTE_ALIGNMENT);
                        });
                    }
                }
            });
        }
        return result[0];
    }

    /** Returns the nanoseconds of a pair, once all blocks have been replaced often enough. */
    private double time(Pair pair) {
        final long[] blocks = new long[Pairs.LIVE];
        final long[] sizes = new long[Pairs.LIVE];
        pass(pair, blocks, sizes);
        final long start = System.nanoTime();
        for (int i = 0; i < PASSES; i++) {
            pass(pair, blocks, sizes);
        }
        final long nanos = System.nanoTime() - start;
        for (int slot = 0; slot < blocks.length; slot++) {
            final long ignored = pair.replace(blocks[slot], sizes[slot], 0);
        }
        return nanos / (double) (PASSES * Pairs.STEPS);
    }

    private void pass(Pair pair, long[] blocks, long[] sizes) {
        for (int step = 0; step < Pairs.STEPS; step++) {
            final int slot = pairs.slots[step];
            blocks[slot] = pair.replace(blocks[slot], sizes[slot], pairs.sizes[step]);
            sizes[slot] = pairs.sizes[step];
        }
    }

    private static double median(double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
