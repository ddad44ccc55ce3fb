package allocator.simulation;

import allocator.simulation.schedule.Failpoint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What a simulation runs, made from one seed: the system under test with its settings, threads with their operations,
 * and the seed of the schedule.
 *
 * @param seed what the program was made from
 * @param world the system under test
 * @param settings decides about its settings
 * @param threads the operations of each thread
 * @param schedule decides which thread goes on when
 */
public record Program(long seed, WorldType world, long settings, List<List<Op>> threads, long schedule) {
    private static final int MOST_THREADS = 4;
    private static final int MOST_OPERATIONS = 24;
    private static final int MOST_CHOICES = 1 << 20;

    /** Makes a program of one of these systems, the same for the same arguments. */
    public static Program of(long seed, List<WorldType> worlds) {
        final SplittableRandom random = new SplittableRandom(seed);
        final WorldType world = worlds.get(random.nextInt(worlds.size()));
        final List<Op.Kind> kinds = kinds(world, random);
        final boolean hasFailpoints = random.nextInt(3) == 0;
        final int threads = 1 + random.nextInt(MOST_THREADS);
        final int mostOperations = 1 + random.nextInt(MOST_OPERATIONS);
        final List<List<Op>> all = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            final List<Op> operations = new ArrayList<>();
            for (int i = 0; i < mostOperations; i++) {
                operations.add(new Op(
                        kinds.get(random.nextInt(kinds.size())),
                        random.nextInt(MOST_CHOICES),
                        random.nextInt(MOST_CHOICES),
                        hasFailpoints ? failpoint(random) : Failpoint.NONE));
            }
            all.add(operations);
        }
        return new Program(seed, world, random.nextLong(), all, random.nextLong());
    }

    /**
     * Returns the kinds of operations, or a part of them, and in a quarter of the programs one of them as often as all
     * others. Some states are reached only where some operations are rare and one is frequent: many live reserves.
     */
    private static List<Op.Kind> kinds(WorldType world, SplittableRandom random) {
        final List<Op.Kind> kinds = new ArrayList<>(world.kinds());
        if (random.nextBoolean()) {
            kinds.removeIf(_ -> random.nextBoolean());
        }
        if (random.nextInt(4) == 0) {
            final List<Op.Kind> all = List.copyOf(EnumSet.copyOf(world.kinds()));
            kinds.addAll(Collections.nCopies(Math.max(kinds.size(), 1), all.get(random.nextInt(all.size()))));
        }
        return kinds.isEmpty() ? world.kinds() : kinds;
    }

    private static Failpoint failpoint(SplittableRandom random) {
        return random.nextInt(4) > 0
                ? Failpoint.NONE
                : new Failpoint(1 + random.nextInt(1 << random.nextInt(1, 6)), 1 + random.nextInt(2));
    }

    /** Returns this program with other threads. */
    Program withThreads(List<List<Op>> others) {
        return new Program(seed, world, settings, others, schedule);
    }

    /** Returns this program with another schedule. */
    Program withSchedule(long other) {
        return new Program(seed, world, settings, threads, other);
    }

    /** Returns the number of operations of all threads. */
    int operations() {
        return threads.stream().mapToInt(List::size).sum();
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder("seed " + seed + ", " + world + ", settings " + settings
                + ", schedule " + schedule + System.lineSeparator());
        for (int thread = 0; thread < threads.size(); thread++) {
            text.append("  thread ").append(thread).append(':');
            threads.get(thread).forEach(op -> text.append(' ').append(op));
            text.append(System.lineSeparator());
        }
        return text.toString();
    }
}
