package allocator.simulation;

import allocator.simulation.instrument.SimulationLoader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/** The command: runs programs from a range of seeds on the instrumented product. */
public final class Simulate {
    private Simulate() {}

    /**
     * Runs the command.
     *
     * @param arguments see {@link Campaign}
     * @throws Throwable what the simulation itself throws
     */
    public static void main(String... arguments) throws Throwable {
        System.exit(run(new SimulationLoader(Simulate.class.getClassLoader()), arguments));
    }

    /**
     * Runs the command with the classes of a loader.
     *
     * @param loader has the instrumented product
     * @param arguments the arguments of the command
     * @return the exit status: 0 if all programs passed, 1 if one failed, 2 for invalid arguments
     * @throws Throwable what the simulation itself throws
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
