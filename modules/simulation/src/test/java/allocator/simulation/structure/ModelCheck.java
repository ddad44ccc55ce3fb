package allocator.simulation.structure;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import allocator.testkit.Share;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * Runs random programs of two or three threads on one structure, each under many schedules, and requires that every
 * result is one that a sequential run can have. The system properties {@code allocator.modelcheck.programs} and
 * {@code allocator.modelcheck.schedules} set how many.
 */
public final class ModelCheck {
    private static final int PROGRAMS = Integer.getInteger("allocator.modelcheck.programs", Share.of(4));
    private static final int SCHEDULES = Integer.getInteger("allocator.modelcheck.schedules", Share.of(100));

    /** Table sizes are no endless loops, and neither is the stack that is touched. */
    private static final int MOST_REPETITIONS = 100_000;

    private ModelCheck() {}

    /**
     * Checks a structure.
     *
     * @param structure a class whose constructor makes the structure and whose marked methods operate on it
     */
    public static void check(Class<?> structure) {
        check(structure, 2, 3, SCHEDULES);
    }

    /**
     * Checks a structure of which three threads have different parts at one time, with two operations each.
     *
     * @param structure a class as for {@link #check(Class)}
     */
    public static void checkThree(Class<?> structure) {
        check(structure, 3, 2, SCHEDULES);
    }

    /**
     * Checks a structure of many parts, under a fifth of the schedules.
     *
     * @param structure a class as for {@link #check(Class)}
     * @param guarded packages or classes whose methods are called under a lock of the structure, one step each
     */
    public static void checkParts(Class<?> structure, String... guarded) {
        check(structure, 2, 3, SCHEDULES / 5, guarded);
    }

    private static void check(Class<?> structure, int threads, int operations, int schedules, String... guarded) {
        final ModelCheckingOptions options = new ModelCheckingOptions()
                .iterations(PROGRAMS)
                .invocationsPerIteration(schedules)
                .threads(threads)
                .actorsBefore(1)
                .actorsPerThread(operations)
                .actorsAfter(1)
                .loopBound(MOST_REPETITIONS)
                .recursionBound(MOST_REPETITIONS)
                .addGuarantee(
                        forClasses(name -> isIn(guarded, name)).allMethods().treatAsAtomic());
        options.check(structure);
    }

    private static boolean isIn(String[] guarded, String name) {
        for (final String prefix : guarded) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }
}
