package allocator.simulation.instrument;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.instrumented.HashOrder;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What differs from run to run in classes as they are, and not in instrumented ones. */
class InstrumenterTest {
    private final SimulationLoader loader = new SimulationLoader(InstrumenterTest.class.getClassLoader());

    @Test
    void collectionsDoNotHaveTheOrderOfIdentityHashCodes() throws Exception {
        final Supplier<?> instrumented = (Supplier<?>)
                loader.loadClass(HashOrder.class.getName()).getConstructor().newInstance();
        assertThat(instrumented.get()).asString().doesNotContain("false");
        assertThat(new HashOrder().get()).contains(false);
    }
}
