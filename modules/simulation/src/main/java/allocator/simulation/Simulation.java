package allocator.simulation;

import allocator.simulation.schedule.Scheduler;
import allocator.simulation.schedule.Task;
import allocator.simulation.world.ArenaSettings;
import allocator.spi.SyncStream;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Runs programs, and makes those that fail smaller. */
public final class Simulation {
    /**
     * A program takes some thousand steps, and some million if most of its requests fail: each shrinks the arena, which
     * checks itself where assertions are on.
     */
    private static final long MOST_STEPS = 30_000_000;

    /** Schedules tried for a smaller program. */
    private static final int SCHEDULES = 40;

    /** A program that failed, the settings of its system, and the violation. */
    public record Failed(Program program, String world, Throwable cause) {}

    /** What a program did: its failure, if any, and a fingerprint of its schedule, the same whenever it runs. */
    public record Outcome(Optional<Failed> failed, long fingerprint) {}

    static {
        ArenaSettings.rehearse();
    }

    private Simulation() {}

    public static Outcome run(Program program) {
        restartStreamIds();
        final World world = program.world().open(program.settings());
        final List<Runnable> bodies = new ArrayList<>();
        for (int thread = 0; thread < program.threads().size(); thread++) {
            final int number = thread;
            bodies.add(() -> perform(world, number, program.threads().get(number)));
        }
        final Scheduler threads = new Scheduler(program.schedule(), MOST_STEPS);
        final Scheduler end = new Scheduler(program.schedule(), MOST_STEPS);
        Optional<Failed> failed = Optional.empty();
        try {
            threads.run(bodies);
            end.run(List.of(world::finish));
        } catch (Throwable e) {
            failed = Optional.of(new Failed(program, world.toString(), e));
        }
        return new Outcome(failed, 31 * threads.fingerprint() + end.fingerprint());
    }

    /** Makes the ids of streams, on which their lanes depend, the same in each run. */
    public static void restartStreamIds() {
        try {
            final Field last = SyncStream.class.getDeclaredField("LAST_ID");
            last.setAccessible(true);
            ((AtomicLong) last.get(null)).set(0);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the ids of streams cannot be restarted", e);
        }
    }

    private static void perform(World world, int thread, List<Op> operations) {
        for (final Op op : operations) {
            final Task task = Scheduler.current();
            task.begin(op.failpoint());
            try {
                world.perform(thread, op);
            } finally {
                task.end();
            }
        }
    }

    /** Leaves out operations and threads while the program still fails under some schedule; returns the smallest. */
    public static Failed shrink(Failed failed) {
        Failed smallest = failed;
        int part = Math.max(failed.program().operations() / 2, 1);
        while (part > 0) {
            final Optional<Failed> smaller = smaller(smallest, part);
            if (smaller.isPresent()) {
                smallest = smaller.get();
            } else {
                part /= 2;
            }
        }
        return smallest;
    }

    private static Optional<Failed> smaller(Failed failed, int part) {
        final List<List<Op>> threads = failed.program().threads();
        for (int thread = 0; thread < threads.size(); thread++) {
            final List<Op> operations = threads.get(thread);
            for (int from = 0; from < operations.size(); from += part) {
                final List<Op> fewer = new ArrayList<>(operations.subList(0, from));
                fewer.addAll(operations.subList(Math.min(from + part, operations.size()), operations.size()));
                final List<List<Op>> others = new ArrayList<>(threads);
                others.set(thread, fewer);
                final Optional<Failed> found =
                        underSomeSchedule(failed.program().withThreads(others));
                if (found.isPresent()) {
                    return found;
                }
            }
        }
        return Optional.empty();
    }

    private static Optional<Failed> underSomeSchedule(Program program) {
        final SplittableRandom random = new SplittableRandom(program.schedule());
        Optional<Failed> found = run(program).failed();
        for (int i = 0; i < SCHEDULES && found.isEmpty(); i++) {
            found = run(program.withSchedule(random.nextLong())).failed();
        }
        return found;
    }
}
