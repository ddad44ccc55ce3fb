package allocator.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.simulation.instrument.SimulationLoader;
import allocator.testkit.Share;
import org.junit.jupiter.api.Test;

/** A few thousand programs; {@code modules/simulation/simulate} runs more. */
class SimulationTest {
    private final SimulationLoader loader = new SimulationLoader(SimulationTest.class.getClassLoader());

    @Test
    void noProgramFails() throws Throwable {
        assertThat(Simulate.run(loader, "--from=0", "--programs=" + Share.of(2000)))
                .isZero();
    }

    @Test
    void aSeedHasOneSchedule() throws Throwable {
        assertThat(Simulate.run(loader, "--from=100000", "--programs=" + Share.of(100), "--twice"))
                .isZero();
    }
}
