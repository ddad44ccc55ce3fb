package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.GpuDriver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Two JVMs on one GPU do not see one another. */
class TwoJvmsTest {
    @Test
    void onThisMachinesGpu() throws Exception {
        final CudaDriver driver = GpuDriver.require();
        final Process other = new ProcessBuilder(command("7"))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.PIPE)
                .start();
        Worker.work(driver, (byte) 9);
        final String output = new String(other.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(other.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(output).contains("kept 7");
        assertThat(other.exitValue()).isZero();
    }

    @Test
    void theWorkerWorks() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build()) {
            Worker.work(driver, (byte) 7);
        }
    }

    /** This JVM's own command with another main class. */
    private static List<String> command(String argument) {
        final ProcessHandle.Info self = ProcessHandle.current().info();
        final List<String> command = new ArrayList<>(List.of(self.command().orElseThrow()));
        for (final String option : self.arguments().orElseThrow()) {
            if (option.startsWith("org.junit.")) {
                command.addAll(List.of("-m", "java.allocator.cuda.arena/" + Worker.class.getName(), argument));
                return command;
            }
            command.add(option);
        }
        return Assumptions.abort("this JVM was not started by JUnit's launcher: " + command);
    }
}
