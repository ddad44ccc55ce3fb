package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever is wrong ends with exit code 1 or 2, one line on standard error that says what, and no output. */
class BadInputTest {
    private static final List<String> ARENA_NUMBERS = List.of(
            "arena.extend_strategy",
            "arena.initial_chunk_size_bytes",
            "arena.max_dead_bytes_per_chunk",
            "arena.initial_growth_chunk_size_bytes",
            "arena.max_power_of_two_extend_bytes",
            "arena.max_mem");

    @TempDir
    private Path folder;

    private static void assertRejected(Outcome outcome, int exitCode, String message) {
        assertThat(outcome.err()).isEqualTo("allocator: " + message + System.lineSeparator());
        assertThat(outcome.exitCode()).isEqualTo(exitCode);
        assertThat(outcome.out()).isEmpty();
    }

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("bad.csv"), text);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    x,0,10,0                     | unknown op 'x', it must be a, r or f
                    f,0,10,0                     | block 0 is freed before it is allocated
                    f,7,10,0                     | block 7 is freed twice
                    a,8,10,0                     | block 8 is allocated again while it lives
                    a,0,-10,0                    | bytes is negative: '-10'
                    a,0,9223372036854775808,0    | bytes is above 9223372036854775552: '9223372036854775808'
                    a,0,10                       | a field is missing: 'a,0,10' has 3 of op,id,bytes,stream
                    """)
    void aMalformedLineOfATrace(String line, String reason) throws IOException {
        final Path trace = file("op,id,bytes,stream\na,7,10,0\na,8,10,0\nf,7,10,0\n" + line + "\n");
        assertRejected(Outcome.of("replay", trace.toString()), 1, trace + ":5: " + reason);
    }

    /** Whichever is written last would replace the other. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "plan resnet --output same --json same",
                "show resnet --html same --json same",
                "replay resnet --once --html same --json same"
            })
    void oneFileForTwoOptions(String arguments) {
        final Path same = folder.resolve("same");
        final Outcome outcome =
                Outcome.of(arguments.replace("same", same.toString()).split(" ", -1));
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err()).contains("--json names the same file");
        assertThat(same).doesNotExist();
    }

    @Test
    void anArgumentWithAnAtIsNoFileOfArguments() throws IOException {
        final String name = "@" + file("--provider");
        assertThat(Outcome.of("replay", name).err()).contains(name).hasLineCount(1);
    }

    @Test
    void anEmptyTrace() throws IOException {
        final Path trace = file("");
        assertRejected(
                Outcome.of("replay", trace.toString()),
                1,
                trace + ": the file is empty, the line op,id,bytes,stream is missing");
    }

    @Test
    void aTraceWithAnotherHeader() throws IOException {
        final Path trace = file("id,op\n");
        assertRejected(
                Outcome.of("replay", trace.toString()),
                1,
                trace + ":1: the header is 'id,op', it must be op,id,bytes,stream");
    }

    @Test
    void aTruncatedGzip() throws IOException {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
            out.write("op,id,bytes,stream\na,0,10,0\n".getBytes(StandardCharsets.UTF_8));
        }
        final Path trace = folder.resolve("cut.csv.gz");
        Files.write(trace, Arrays.copyOf(bytes.toByteArray(), bytes.size() - 9));
        assertRejected(Outcome.of("replay", trace.toString()), 1, trace + ": the gzip data is truncated after line 2");
    }

    @Test
    void aDirectory() {
        assertRejected(Outcome.of("replay", folder.toString()), 2, folder + ": is a directory, not a trace");
    }

    @Test
    void aMissingTrace() {
        assertRejected(
                Outcome.of("replay", "nothing.csv"),
                2,
                "nothing.csv: no such file, and no bundled trace (gpt2, bert, frcnn, llama_train, resnet, "
                        + "two_streams)");
    }

    @Test
    void aGoodTraceBesideABadOneIsNotReplayed() {
        assertRejected(
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "resnet", folder.toString()),
                2,
                folder + ": is a directory, not a trace");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    fly                         | no command 'fly', there are replay, show, providers, trace, plan, doctor, fit, conformance (see allocator --help)
                    --fly                       | Unknown option: '--fly' (see allocator replay --help)
                    replay --json               | Missing required parameter for option '--json' (FILE) (see allocator replay --help)
                    replay --json /no/such/x    | --json /no/such/x: the folder does not exist
                    replay --option max_mem     | --option max_mem: a setting is KEY=VALUE
                    replay --option =5          | --option =5: a setting is KEY=VALUE
                    replay --option a=1 --option a=2 | --option a is given twice
                    replay --provider cpu-reference --device 9     | no device 9 of cpu-reference: cpu-reference has cpu:0
                    replay --provider cpu-reference --device gpu:0 | no device gpu:0 of cpu-reference: cpu-reference has cpu:0
                    replay --provider cpu-reference --device -1    | no device -1 of cpu-reference: cpu-reference has cpu:0
                    replay --policies a,,b      | --policies a,,b: a name is empty
                    replay --policies a,b,a     | --policies a,b,a: a is named twice
                    replay --policies compact --option arena.policy=compact | --policies and --option arena.policy cannot be given together
                    replay --provider cpu-reference --policies first-fit | option arena.policy='first-fit' (from --policies) is not one of best-fit, compact, slabs
                    providers --providers-dir /no/such | --providers-dir /no/such: no such folder
                    providers now               | Unmatched argument at index 1: 'now' (see allocator providers --help)
                    """)
    void wrongUsage(String arguments, String message) {
        assertRejected(Outcome.of(arguments.split(" ")), 2, message);
    }

    @Test
    void theErrorForAnUnknownProviderNamesThoseFound() {
        final Outcome outcome = Outcome.of("replay", "--provider", "nobody");
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err())
                .startsWith("allocator: --provider nobody: no such provider; found: ")
                .contains("cpu-reference")
                .hasLineCount(1);
    }

    @Test
    void theErrorForAnUnknownOptionKeyNamesTheNearestOne() {
        final Outcome outcome =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "resnet", "--option", "arena.max_mme=5");
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err())
                .startsWith("allocator: unknown option arena.max_mme='5' (from --option); did you mean arena.max_mem?")
                .hasLineCount(1);
    }

    /** Each numeric option at its edges: it works, or the error names key, value, range and origin. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "-1",
                "0",
                "1",
                "255",
                "256",
                "257",
                "1000000",
                "2147483648",
                "9223372036854775807",
                "text",
                "",
                "1.5",
                " 1"
            })
    void numericOptionsAtTheirEdges(String value) throws IOException {
        final Path trace = file("op,id,bytes,stream\na,0,1000,0\na,1,300000,0\nf,0,1000,0\na,2,5000000,0\n");
        for (final String key : ARENA_NUMBERS) {
            final Outcome outcome = Outcome.of(
                    "replay", "--provider", "cpu-reference", "--once", trace.toString(), "--option", key + "=" + value);
            if (outcome.exitCode() == 0 || outcome.exitCode() == 4) {
                assertThat(outcome.err()).as(key).isEmpty();
                assertThat(outcome.out()).as(key).contains("3 allocations");
            } else {
                assertThat(outcome.exitCode()).as(key).isEqualTo(2);
                assertThat(outcome.out()).as(key).isEmpty();
                assertThat(outcome.err())
                        .as(key)
                        .startsWith("allocator: option " + key + "='" + value + "' (from --option) is not ")
                        .hasLineCount(1);
            }
        }
    }

    @Test
    void aJsonFileThatIsAFolder() {
        assertRejected(Outcome.of("replay", "--json", folder.toString()), 2, "--json " + folder + ": is a directory");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    replay,''                       | the name of a trace is empty
                    replay,--json,''                | --json: the name is empty
                    providers,--json,''             | --json: the name is empty
                    replay,--provider,''            | --provider: the name is empty
                    replay,--device,''              | --device: the name is empty
                    replay,--policies,''            | --policies : a name is empty
                    providers,--providers-dir,''    | --providers-dir: the name is empty
                    """)
    void anEmptyName(String arguments, String message) {
        final String[] split = arguments.replace("''", "").split(",", -1);
        assertRejected(Outcome.of(split), 2, message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--report", "--replay", "--providers-dir", "--provider"})
    void anEmptyNameOfConformance(String option) {
        final Outcome outcome = Outcome.of("conformance", option, "");
        assertThat(outcome.err()).isEqualTo("allocator: " + option + ": the name is empty" + System.lineSeparator());
        assertThat(outcome.exitCode()).isEqualTo(2);
    }

    /** The provider is not looked for: the file is checked first. */
    @ParameterizedTest
    @ValueSource(strings = {"replay", "providers"})
    void aJsonFileThatCannotBeWrittenEndsTheCommandBeforeTheWork(String command) {
        final Path tooLong = folder.resolve("n".repeat(300));
        assertRejected(
                Outcome.of(command, "--provider", "nobody", "--json", tooLong.toString()),
                1,
                "--json " + tooLong + ": File name too long");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aJsonDeviceThatIsFullCostsNotTheText() {
        final Outcome outcome =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "resnet", "--json", "/dev/full");
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .isEqualTo("allocator: --json /dev/full: it cannot be written: No space left on device"
                        + System.lineSeparator());
        assertThat(outcome.out()).startsWith("resnet.csv.gz, ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\u0661", "+1", "\uff11"})
    void aNumberHasAsciiDigitsOnly(String number) {
        for (final String option : List.of("--seed", "--timeout")) {
            final Outcome outcome = Outcome.of("conformance", option, number);
            assertThat(outcome.err())
                    .startsWith("allocator: Invalid value for option '" + option)
                    .contains("'" + number + "' is not a long")
                    .hasLineCount(1);
            assertThat(outcome.exitCode()).isEqualTo(2);
        }
        for (final String key : ARENA_NUMBERS) {
            final Outcome outcome =
                    Outcome.of("providers", "--provider", "cpu-reference", "--option", key + "=" + number);
            assertThat(outcome.err())
                    .startsWith("allocator: option " + key + "='" + number + "' (from --option) is not ")
                    .hasLineCount(1);
            assertThat(outcome.exitCode()).isEqualTo(2);
        }
    }

    @Test
    void strictnessWithFailedAllocationsAfterTheTableIsShown() throws IOException {
        final Path trace = file("op,id,bytes,stream\na,0,1000,0\na,1,300000,0\n");
        final Outcome outcome = Outcome.of(
                "replay",
                "--provider",
                "cpu-reference",
                "--once",
                "--strict",
                trace.toString(),
                "--option",
                "arena.max_mem=2000");
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .isEqualTo("allocator: bad.csv: 1 of 2 allocations failed for lack of memory (--strict)"
                        + System.lineSeparator());
        assertThat(outcome.out()).contains("2 allocations, 1 failed for lack of memory");
    }

    @Test
    void withVerboseTheOriginOfTheErrorIsShown() {
        final Outcome outcome = Outcome.of("replay", "--verbose", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err())
                .startsWith("allocator: " + folder + ": is a directory, not a trace")
                .contains("Caused by: allocator.trace.TraceException");
    }
}
