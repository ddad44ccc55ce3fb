package allocator.arena;

import allocator.plan.PlanFile;
import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.testkit.FakeDevice;
import java.io.IOException;
import java.util.List;

/** Runs a program of these tests in a JVM of its own. */
final class OwnJvm {
    private OwnJvm() {}

    static void run(Class<?> program, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        allocator.testkit.OwnJvm.run(
                List.of(program, BfcArena.class, Allocator.class, Limit.class, PlanFile.class, FakeDevice.class),
                program,
                options,
                arguments);
    }
}
