package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NamedProviderTest {
    private static final String RED = ServedProviders.Red.class.getName();
    private static final String BLUE = ServedProviders.Blue.class.getName();
    private static final String NAMELESS = ServedProviders.Nameless.class.getName();
    private static final String BROKEN = ServedProviders.Broken.class.getName();

    @BeforeEach
    void reset() {
        ServedProviders.reset();
    }

    @Test
    void findsOneByItsNameAndClosesTheOthers() {
        assertThat(NamedProvider.find(ServedProviders.loader(List.of(RED, BLUE)), "blue")
                        .name())
                .isEqualTo("blue");
        assertThat(ServedProviders.CALLS).containsExactly("close red");
    }

    @Test
    void namesTheOthersIfThereIsNone() {
        assertThatThrownBy(() ->
                        NamedProvider.find(ServedProviders.loader(List.of(BROKEN, "no.such.Factory", RED)), "green"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no provider is called green")
                .hasMessageContaining(BROKEN)
                .hasMessageContaining("no.such.Factory")
                .hasMessageContaining("red");
    }

    @Test
    void saysWhichProviderHasNoName() {
        assertThatThrownBy(() -> NamedProvider.find(ServedProviders.loader(List.of(NAMELESS, RED)), "green"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("there are [" + NAMELESS + ", whose name is null, red]");
    }

    @Test
    void findsOneBehindAnyNumberOfBrokenOnes() {
        final List<String> lines = Stream.concat(
                        IntStream.range(0, 1000).mapToObj(i -> "no.such.Factory" + i), Stream.of(BLUE))
                .toList();
        assertThat(NamedProvider.find(ServedProviders.loader(lines), "blue").name())
                .isEqualTo("blue");
    }

    @Test
    void givesUpOnALoaderThatDoesNotAdvance() {
        assertThatThrownBy(() -> NamedProvider.find(ServedProviders.stuckLoader(), "blue"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no provider is called blue");
    }

    @Test
    void aCloseThatFailsIsNoFailureOfTheSearch() {
        ServedProviders.failOnce("close red", new IllegalStateException("busy"));
        assertThat(NamedProvider.find(ServedProviders.loader(List.of(RED, BLUE)), "blue")
                        .name())
                .isEqualTo("blue");
    }
}
