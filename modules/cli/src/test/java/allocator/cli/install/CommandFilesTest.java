package allocator.cli.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class CommandFilesTest {
    @TempDir
    private Path folder;

    @Test
    void bashAcceptsTheCompletionAndOffersTheCommands() throws Exception {
        final Path completion = folder.resolve("allocator.sh");
        CommandFiles.main(new String[] {
            completion.toString(), folder.resolve("allocator.1").toString()
        });
        final Process bash = new ProcessBuilder(
                        "bash",
                        "-ec",
                        "source \"$0\"; COMP_WORDS=(allocator pro); COMP_CWORD=1; "
                                + "$(complete -p allocator | sed 's/.*-F //; s/ .*//'); "
                                + "echo \"${COMPREPLY[@]}\"",
                        completion.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        assertThat(bash.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(folder.resolve("out")).hasContent("providers");
        assertThat(folder.resolve("allocator.1")).content().startsWith(".TH ALLOCATOR 1\n");
    }

    @Test
    void theManualPageHasEveryCommandAndOption() {
        final String page = ManualPage.of(CommandFiles.command());
        final List<String> expected = new ArrayList<>();
        all(CommandFiles.command()).forEach(command -> {
            expected.add(ManualPage.escape(command.getCommandSpec().qualifiedName()));
            command.getCommandSpec().options().forEach(option -> expected.add(ManualPage.escape(option.longestName())));
        });
        assertThat(expected).hasSizeGreaterThan(40);
        assertThat(page).contains(expected);
        assertThat(page).doesNotContain("%n", "@|").contains("--providers-dir".replace("-", "\\-"));
    }

    /** A command without a text of its own has that of the command above it. */
    @Test
    void whatIsRunWithoutACommandIsSaidOfTheWholeCommandAlone() {
        assertThat(ManualPage.of(CommandFiles.command())).containsOnlyOnce("Without a command it replays");
    }

    private static Stream<CommandLine> all(CommandLine command) {
        return Stream.concat(
                Stream.of(command), command.getSubcommands().values().stream().flatMap(CommandFilesTest::all));
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {"a-b, a\\-b", ".x, \\&.x", "'x, \\&'x", "a\\n, a\\en"})
    void noTextIsARequestOfMan(String text, String escaped) {
        assertThat(ManualPage.escape(text)).isEqualTo(escaped);
    }
}
