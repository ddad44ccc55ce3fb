package allocator.runtime.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.InvalidOptionException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProviderOrderTest {
    private record Provider(String name, int priority) {}

    @Test
    void namedOnesComeFirstThenPriorityThenName() {
        final List<Provider> expected = List.of(
                new Provider("z", -5),
                new Provider("m", 0),
                new Provider("y", 10),
                new Provider("a", 0),
                new Provider("b", 0),
                new Provider("0", Integer.MIN_VALUE));
        final List<Provider> shuffled = new ArrayList<>(expected);
        final Random random = new Random(1);
        for (int i = 0; i < 20; i++) {
            Collections.shuffle(shuffled, random);
            shuffled.sort(ProviderOrder.parse("z,m,absent").comparing(Provider::name, Provider::priority));
            assertThat(shuffled).isEqualTo(expected);
        }
    }

    @Test
    void theReasonIsSaid() {
        final ProviderOrder order = ProviderOrder.parse("z");
        assertThat(order.why("z", 0, "a", 9)).isEqualTo("it comes first in environment.provider_order");
        assertThat(order.why("a", 0, "z", 9)).isEqualTo("it was registered before");
        assertThat(order.why("b", 9, "a", 0)).isEqualTo("its priority is 9, that of a is 0");
        assertThat(order.why("a", 0, "b", 0)).isEqualTo("its name comes first");
        assertThat(order.why("b", 0, "a", 0)).isEqualTo("it was registered before");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ",", "a,", "a, b", "a,b,a"})
    void aListThatIsNotOneIsRejected(String list) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> ProviderOrder.parse(list))
                .withMessageContaining("a list of different names of providers");
    }
}
