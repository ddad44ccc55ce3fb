package allocator.simulation.model;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Spin visits every state of {@code src/test/model/allocator.pml}, whose header says what it claims. */
class AllocatorModelTest {
    private static final Path MODEL = Path.of("src/test/model/allocator.pml").toAbsolutePath();

    /** The property that makes a skip a failure. */
    private static final String REQUIRED = "allocator.acceptance.required";

    private static final Pattern FAULT = Pattern.compile("(?m)^#define (\\w+) \\d+ +/\\* (\\w+): (.*) \\*/$");
    private static final Pattern CLAIM = Pattern.compile("/\\* ([A-Z]+) \\*/");
    private static final Pattern STATES = Pattern.compile("(\\d[\\d.e+]*) states, stored");
    private static final Pattern LINE = Pattern.compile("allocator\\.pml:(\\d+), Error: assertion violated");

    private static final ExecutorService SEARCHES = Executors.newFixedThreadPool(2);
    private static final Map<String, Future<Search>> FOUND = new ConcurrentHashMap<>();

    @TempDir
    private static Path folder;

    /** What a search printed, and in which folder it ran. */
    private record Search(Path folder, String output) {
        boolean isComplete() {
            return output.contains("errors: 0") && !output.contains("max search depth too small");
        }

        double states() {
            return Double.parseDouble(
                    STATES.matcher(output).results().findFirst().orElseThrow().group(1));
        }
    }

    @BeforeAll
    static void searchForAllFaults() throws IOException {
        for (final String command : List.of("spin", "cc")) {
            if (Stream.of(System.getenv("PATH").split(File.pathSeparator))
                    .noneMatch(on -> Files.isExecutable(Path.of(on, command)))) {
                final String reason = "this machine has no " + command + ", which explores the model";
                assertThat(Boolean.getBoolean(REQUIRED))
                        .as("%s, and -D%s=true makes a skip fail", reason, REQUIRED)
                        .isFalse();
                assumeTrue(false, reason); // a machine without these commands: counted, and a failure where required
            }
        }
        FOUND.put("0", SEARCHES.submit(() -> search("none", "-O0", 100_000, 18, "-DFAULT=0")));
        faults().forEach(fault -> FOUND.put(
                fault.group(1),
                SEARCHES.submit(() -> search(fault.group(1), "-O0", 100_000, 18, "-DFAULT=" + fault.group(1)))));
    }

    @AfterAll
    static void end() {
        SEARCHES.shutdownNow();
    }

    static Stream<MatchResult> faults() throws IOException {
        return FAULT.matcher(Files.readString(MODEL)).results();
    }

    static Stream<String> faultNames() throws IOException {
        return faults().map(fault -> fault.group(1));
    }

    private static Search search(String name, String optimization, int depth, int tableBits, String... definitions)
            throws IOException, InterruptedException {
        final Path own = Files.createDirectory(folder.resolve(name));
        Files.copy(MODEL, own.resolve("allocator.pml"));
        run(
                own,
                Stream.concat(
                                Stream.of("spin", "-a"),
                                Stream.concat(Stream.of(definitions), Stream.of("allocator.pml")))
                        .toArray(String[]::new));
        run(own, "cc", optimization, "-w", "-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE", "-o", "pan", "pan.c");
        return new Search(own, run(own, "./pan", "-m" + depth, "-w" + tableBits));
    }

    private static String run(Path in, String... command) throws IOException, InterruptedException {
        final Process process = new ProcessBuilder(command)
                .directory(in.toFile())
                .redirectErrorStream(true)
                .start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor())
                .as(String.join(" ", command) + ": " + output)
                .isZero();
        return output;
    }

    @Test
    void noStateOfTheSmallBoundViolatesAClaim() throws Exception {
        final Search search = FOUND.get("0").get();
        assertThat(search.output()).matches(_ -> search.isComplete());
        assertThat(search.states()).isGreaterThan(10_000);
    }

    /** Three streams, four blocks, three pages. */
    @Test
    @Tag("thorough")
    void noStateOfTheWholeBoundViolatesAClaim() throws Exception {
        final Search search =
                search("whole", "-O2", 2_000_000, 24, "-DSTREAMS=3", "-DBLOCKS=4", "-DPAGES=3", "-DFAULT=0");
        assertThat(search.output()).matches(_ -> search.isComplete());
        assertThat(search.states()).isGreaterThan(1_000_000);
    }

    @ParameterizedTest
    @MethodSource("faultNames")
    void aPlantedFaultViolatesItsClaim(String name) throws Exception {
        final String claim = faults().filter(fault -> fault.group(1).equals(name))
                .findFirst()
                .orElseThrow()
                .group(2);
        final Search search = FOUND.get(name).get();
        assertThat(search.output()).contains("assertion violated");
        final String replay = run(search.folder(), "spin", "-t", "-DFAULT=" + name, "allocator.pml");
        final int line = Integer.parseInt(
                LINE.matcher(replay).results().findFirst().orElseThrow().group(1));
        assertThat(Files.readAllLines(MODEL).get(line - 1)).contains("/* " + claim + " */");
    }

    @Test
    void everyClaimHasAFaultThatViolatesIt() throws IOException {
        final String text = Files.readString(MODEL);
        assertThat(faults().map(fault -> fault.group(2)).collect(toSet()))
                .isEqualTo(CLAIM.matcher(text)
                        .results()
                        .map(claim -> claim.group(1))
                        .collect(toSet()));
    }
}
