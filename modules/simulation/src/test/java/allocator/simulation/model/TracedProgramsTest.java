package allocator.simulation.model;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.simulation.instrument.SimulationLoader;
import allocator.simulation.world.TracedProgram;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Traces of simulated programs are what the model allows. */
class TracedProgramsTest {
    @Test
    void aThousandTracesAreAllowed() throws Throwable {
        final Map<String, Integer> actions = check(0, 1000, 50);
        assertThat(actions.keySet())
                .contains("take", "release", "map", "unmap", "allocate", "load", "free", "record", "wait", "close")
                .contains("sleep", "wake", "failed", "end");
    }

    /** As many as {@code allocator.model.traces} says, from {@code allocator.model.first} on. */
    @Test
    @Tag("thorough")
    void manyTracesAreAllowed() throws Throwable {
        final long first = Long.getLong("allocator.model.first", 1000);
        assertThat(check(first, first + Long.getLong("allocator.model.traces", 20_000), 200))
                .containsKey("end");
    }

    /**
     * Returns how often each action was in the traces of a range of seeds.
     *
     * @param every in one of so many programs threads go on within each other's calls
     */
    private static Map<String, Integer> check(long from, long to, int every) throws Throwable {
        final Method instrumented = new SimulationLoader(TracedProgramsTest.class.getClassLoader())
                .loadClass(TracedProgram.class.getName())
                .getMethod("trace", long.class, boolean.class);
        final Map<String, Integer> actions = new TreeMap<>();
        for (long seed = from; seed < to; seed++) {
            final List<String> events =
                    seed % every == 0 ? trace(instrumented, seed) : TracedProgram.trace(seed, false);
            try {
                TraceChecker.check(events);
            } catch (AssertionError e) {
                throw new AssertionError("the trace of seed " + seed + ":\n" + String.join("\n", events), e);
            }
            events.forEach(event -> actions.merge(event.split(" ", 2)[0], 1, Integer::sum));
        }
        return actions;
    }

    @SuppressWarnings("unchecked") // the loader has another class of the program
    private static List<String> trace(Method instrumented, long seed) throws Throwable {
        try {
            return (List<String>) instrumented.invoke(null, seed, true);
        } catch (InvocationTargetException e) {
            throw new AssertionError("the program of seed " + seed, e.getCause());
        }
    }
}
