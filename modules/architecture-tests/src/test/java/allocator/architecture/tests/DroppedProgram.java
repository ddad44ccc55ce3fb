package allocator.architecture.tests;

import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import java.nio.file.Path;

/**
 * A program on modules: shows the providers of a directory, and allocates with each provider that is named. Its GPU is
 * simulated where the module path has {@code java.allocator.cuda.simulated}.
 */
public final class DroppedProgram {
    private DroppedProgram() {}

    /** Runs it: the directory, then names of providers. */
    public static void main(String[] args) {
        if (ModuleLayer.boot().findModule("java.allocator.cuda.simulated").isPresent()) {
            Simulated.substitute();
        }
        try (Environment environment =
                Environment.builder().providersFrom(Path.of(args[0])).build()) {
            environment
                    .providers()
                    .forEach(provider -> System.out.println(
                            provider.name() + " " + provider.failure().orElse("loads")));
            for (int i = 1; i < args.length; i++) {
                try (Session session = environment.openSession(
                        SessionOptions.builder().provider(args[i]).build())) {
                    session.allocator().free(session.allocator().alloc(1000));
                    System.out.println(args[i] + " serves");
                }
            }
        }
    }

    /** Apart, since the program runs without the simulated device too. */
    private static final class Simulated {
        private static final CudaDrivers.Substitution GPU =
                SimulatedCudaDriver.builder().build().substitute();

        static void substitute() {
            System.out.println(GPU.getClass().getModule());
        }
    }
}
