package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.testkit.Share;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RandomProgramTest {
    private static SimulatedCudaDriver newDriver() {
        return SimulatedCudaDriver.builder()
                .withLaggingStreams()
                .withoutContents()
                .withMemory(1L << 30)
                .build();
    }

    /** The simulated device notices use before it is ready, reuse in flight, and what is left behind. */
    @Property
    void noMemoryIsEverUsedByTwo(@ForAll long seed) {
        try (SimulatedCudaDriver driver = newDriver()) {
            final RandomProgram program = new RandomProgram(seed, driver);
            program.run();
            assertThat(program.hasFelt()).isFalse();
        }
    }

    /** Each call fails once, in turn: no leak, no stale entry, true statistics, and the next call works. */
    @ParameterizedTest
    @ValueSource(ints = {CudaResult.OUT_OF_MEMORY, CudaResult.ILLEGAL_ADDRESS, CudaResult.INVALID_VALUE})
    void anyCallToTheDriverMayFail(int result) {
        final long seed = 4711;
        final long calls;
        try (SimulatedCudaDriver driver = newDriver()) {
            new RandomProgram(seed, driver).run();
            calls = driver.controls().calls();
        }
        for (long call = 1L + result % Share.step(); call <= calls; call += Share.step()) {
            final long failing = call;
            assertThatCode(() -> {
                        try (SimulatedCudaDriver driver = newDriver()) {
                            driver.controls().failOnCall(failing, result);
                            new RandomProgram(seed, driver).run();
                        }
                    })
                    .as("call %d of %d fails with %s", call, calls, CudaResult.nameOf(result))
                    .doesNotThrowAnyException();
        }
    }
}
