package allocator.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.simulation.instrument.SimulationLoader;
import allocator.testkit.Share;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A few thousand programs; {@code modules/simulation/simulate} runs more. */
class SimulationTest {
    private final SimulationLoader loader = new SimulationLoader(SimulationTest.class.getClassLoader());

    @Test
    void noProgramFails() throws Throwable {
        assertThat(Simulate.run(loader, "--from=0", "--programs=" + Share.of(2000)))
                .isZero();
    }

    /**
     * A free that took a repair for itself, a trim that hid a shortage, a repair that got lost, a fit that was lost.
     */
    @ParameterizedTest
    @ValueSource(longs = {1401, 210176, 1002742, 13064519})
    void noProgramThatOnceFailedDoesSoAgain(long seed) throws Throwable {
        assertThat(Simulate.run(loader, "--from=" + seed, "--programs=1")).isZero();
    }

    @Test
    void aSeedHasOneSchedule() throws Throwable {
        assertThat(Simulate.run(loader, "--from=100000", "--programs=" + Share.of(100), "--twice"))
                .isZero();
    }
}
