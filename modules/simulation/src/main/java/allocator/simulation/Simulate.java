package allocator.simulation;

import allocator.simulation.instrument.SimulationLoader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/** The command: runs programs from a range of seeds on the instrumented product. */
public final class Simulate {
    private Simulate() {}

    /** Runs the command with the arguments of {@link Campaign}. */
    public static void main(String... arguments) throws Throwable {
        System.exit(run(new SimulationLoader(Simulate.class.getClassLoader()), arguments));
    }

    /**
     * Runs the command with the classes of a loader, which has the instrumented product; returns the exit status: 0 if
     * all programs passed, 1 if one failed, 2 for invalid arguments.
     */
    public static int run(SimulationLoader loader, String... arguments) throws Throwable {
        try {
            return (int) Class.forName("allocator.simulation.Campaign", true, loader)
                    .getMethod("run", String[].class)
                    .invoke(null, (Object) Arrays.copyOf(arguments, arguments.length));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
