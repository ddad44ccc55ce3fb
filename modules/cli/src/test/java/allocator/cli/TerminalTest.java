package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cli.output.Terminal;
import allocator.cli.text.ListedProvider;
import allocator.cli.text.ProvidersText;
import allocator.runtime.Environment;
import allocator.runtime.ProviderReport;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.UnsupportedMemoryException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Characters that control a terminal, in names that others gave, are escaped in all that the command writes. */
class TerminalTest {
    /** Clears the screen, in the old way and in one character; turns the direction of text; returns to the margin. */
    private static final String HOSTILE = "x\u001b[2J\u009b2J\u202e\ry";

    private static final String ESCAPED = "x\\u001b[2J\\u009b2J\\u202e";

    @TempDir
    private Path folder;

    private static void assertHarmless(String text) {
        assertThat(text.chars()
                        .filter(c -> (Character.isISOControl(c) && c != '\n' && c != '\t') || c == '\u202e')
                        .mapToObj(Integer::toHexString))
                .as(text)
                .isEmpty();
    }

    private static void assertHarmless(Outcome outcome) {
        assertHarmless(outcome.out());
        assertHarmless(outcome.err());
    }

    @Test
    void namesOfTraces() throws IOException {
        final Path trace = Files.writeString(folder.resolve(HOSTILE), "op,id,bytes,stream\na,0,10,0\n");
        final String[] arguments = {"replay", "--provider", "cpu-reference", "--once", trace.toString()};
        final Outcome one = Outcome.of(arguments);
        assertHarmless(one);
        assertThat(one.out()).startsWith(ESCAPED + "\\u000dy, 1 events");
        final Outcome two =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", trace.toString(), trace.toString());
        assertHarmless(two);
        assertThat(two.out()).contains(ESCAPED);
    }

    @Test
    void namesThatAreWrong() {
        for (final String arguments : List.of("replay@?", "replay@--device@?", "replay@--provider@?", "?", "--?")) {
            final Outcome outcome = Outcome.of(arguments.replace("?", HOSTILE).split("@"));
            assertHarmless(outcome);
            assertThat(outcome.err()).contains(ESCAPED).hasLineCount(1);
            assertThat(outcome.exitCode()).isEqualTo(2);
        }
    }

    @Test
    void namesInJson() throws IOException {
        final Path trace = Files.writeString(folder.resolve(HOSTILE), "op,id,bytes,stream\na,0,10,0\n");
        final Outcome outcome =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", trace.toString(), "--json", "-");
        assertHarmless(outcome);
        assertThat(outcome.out()).contains("\\u009B");
    }

    @Test
    void namesOfJars() throws IOException {
        Files.writeString(folder.resolve(HOSTILE + ".jar"), "this is no jar");
        final Outcome outcome = Outcome.of("providers", "--providers-dir", folder.toString());
        assertHarmless(outcome);
        assertThat(outcome.out()).contains(ESCAPED);
    }

    @Test
    void whatAProviderSaysOfItself() {
        final StringWriter out = new StringWriter();
        try (Environment environment =
                Environment.builder().modulePathProviders(false).build()) {
            environment.register(new Hostile());
            final ProviderReport report = environment.providers().getFirst();
            new ProvidersText(Terminal.of(new PrintWriter(out), new PrintWriter(new StringWriter())), true, true)
                    .print(List.of(new ListedProvider(report, List.of(), List.of(), AllocatorOptions.EMPTY, Map.of())));
        }
        assertHarmless(out.toString());
        assertThat(out.toString().lines())
                .first()
                .isEqualTo("hostile " + ESCAPED + "\\u000dy by " + ESCAPED + "\\u000dy\\u000aforged");
        assertThat(out.toString()).contains("note: reason " + ESCAPED);
    }

    private static final class Hostile implements EpFactory {
        @Override
        public String name() {
            return "hostile";
        }

        @Override
        public String vendor() {
            return HOSTILE + "\nforged";
        }

        @Override
        public String version() {
            return HOSTILE;
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            return DeviceDiscovery.none("reason " + HOSTILE);
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            throw new UnsupportedMemoryException("none");
        }

        @Override
        public void releaseAllocator(Allocator allocator) {}

        @Override
        public void close() {}
    }
}
