package allocator.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands {@code allocator doctor} and {@code allocator fit}, as processes, on the modules of this test. */
class CommandTest {
    @TempDir
    private Path folder;

    private int run(String... arguments) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "--module-path",
                Stream.of(System.getProperty("jdk.module.path"), System.getProperty("java.class.path"))
                        .flatMap(path -> Arrays.stream(path.split(File.pathSeparator)))
                        .filter(entry -> !entry.isEmpty())
                        .distinct()
                        .collect(Collectors.joining(File.pathSeparator)),
                "--module",
                "java.allocator.cli/allocator.cli.Main"));
        command.addAll(List.of(arguments));
        final Process process = new ProcessBuilder(command)
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        return process.exitValue();
    }

    private String out() throws IOException {
        return Files.readString(folder.resolve("out"));
    }

    private String err() throws IOException {
        return Files.readString(folder.resolve("err"));
    }

    /** Returns the numbers of a file, by their paths. */
    private static Map<String, Long> numbers(Path file) throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
            for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
                if (token == JsonToken.VALUE_NUMBER_INT) {
                    numbers.put(json.getParsingContext().pathAsPointer().toString(), json.getLongValue());
                }
            }
        }
        return numbers;
    }

    @Test
    void doctorSaysWhatIsHeldWhoHasItAndWhatHelps() throws Exception {
        final Path json = folder.resolve("result.json");
        final Path page = folder.resolve("page.html");
        assertThat(run(
                        "doctor",
                        TestModels.bert(folder).toString(),
                        "--shape",
                        "input_ids=4x64",
                        "--shape",
                        "attention_mask=4x64",
                        "--seconds",
                        "0.1",
                        "--json",
                        json.toString(),
                        "--html",
                        page.toString()))
                .as(err())
                .isZero();
        final Map<String, Long> numbers = numbers(json);
        final long peak = numbers.get("/profile/peak");
        assertThat(numbers).containsEntry("/configurations/best_fit/peak_in_use", peak);
        assertThat(numbers.get("/configurations/compact/held"))
                .isLessThan(numbers.get("/configurations/best_fit/held"));
        assertThat(numbers).containsEntry("/settings/0/held", numbers.get("/configurations/best_fit/burst_held"));
        assertThat(numbers.get("/settings/0/held_with")).isLessThan(numbers.get("/settings/0/held"));
        assertThat(out())
                .contains(
                        "ONNX Runtime's arena", "/m/encoder/layer.0", "shrink() after a burst", "arena.policy=compact")
                .contains(String.format("(%,d bytes)", peak));
        assertThat(Files.readString(page)).contains("/m/encoder/layer.0").doesNotContain("http://", "https://");
    }

    @Test
    void fitSaysTheLargestBatch() throws Exception {
        assertThat(run("fit", TestModels.similarity().toString(), "--shape", "rows=Nx16", "--limit", "1m"))
                .as(err())
                .isZero();
        assertThat(out())
                .containsPattern("The largest that fits 1.00 MiB \\(1,048,576 bytes\\), with 1 % to spare, is 50\\d\\.")
                .contains("There the peak is 4 N² bytes.");
    }

    @Test
    void aLimitThatNotEven1FitsIsExitCode1() throws Exception {
        final String model = TestModels.similarity().toString();
        assertThat(run("fit", model, "--shape", "rows=Nx16", "--limit", "1")).isEqualTo(1);
        assertThat(err()).isEqualTo("allocator: " + model + ": not even 1 fits 1 B (1 bytes)\n");
    }

    @Test
    void aFreeDimensionIsOneLineAndExitCode2() throws Exception {
        assertThat(run("doctor", TestModels.similarity().toString())).isEqualTo(2);
        assertThat(err()).isEqualTo("allocator: free dimension 'n' of input 'rows': add --shape rows=1x16\n");
        assertThat(out()).isEmpty();
    }
}
