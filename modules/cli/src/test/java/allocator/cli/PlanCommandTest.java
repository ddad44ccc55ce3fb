package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cli.output.Terminal;
import allocator.plan.Instance;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanCommandTest {
    private static final String BLOCKS = "id,lower,upper,size\nx,0,4,300\ny,2,6,400\nz,4,8,300\n";
    private static final String TRACE = """
            op,id,bytes,stream
            a,0,100,0
            a,1,300,1
            f,0,100,0
            a,0,200,0
            """;

    @TempDir
    private Path folder;

    private String file(String text) throws IOException {
        return Files.writeString(folder.resolve("in.csv"), text).toString();
    }

    private static void assertFailed(Outcome outcome, int exitCode, String message) {
        assertThat(outcome.err()).isEqualTo("allocator: " + message + System.lineSeparator());
        assertThat(outcome.exitCode()).isEqualTo(exitCode);
    }

    @Nested
    class Blocks {
        @Test
        void theLeastHeightIsShown() throws IOException {
            final Outcome outcome = Outcome.of("plan", file(BLOCKS));
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out())
                    .startsWith("in.csv, 3 blocks")
                    .containsPattern("needs +700 B +700 +the least possible")
                    .containsPattern("lower bound +700 B +700")
                    .contains("time", "steps")
                    .doesNotContain("streams", "capacity");
            assertThat(outcome.out().lines())
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(80));
        }

        @Test
        void thePlanIsWritten() throws IOException {
            final Path plan = folder.resolve("plan.csv");
            final Outcome outcome = Outcome.of("plan", file(BLOCKS), "-o", plan.toString());
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).contains("written: " + plan);
            assertThat(PlanFile.read(plan).ids()).containsExactly("x", "y", "z");
            assertThat(plan).content().startsWith("id,lower,upper,size,offset\nx,0,4,300,");
        }

        @Test
        void thePageIsWritten() throws IOException {
            final Path page = folder.resolve("plan.html");
            final Outcome outcome = Outcome.of("plan", file(BLOCKS), "--capacity", "1000", "--html", page.toString());
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).contains("page written: " + page);
            assertThat(page)
                    .content()
                    .contains(
                            "<title>in.csv</title>",
                            "3 blocks, planned in ",
                            "\"capacity\":1000",
                            "[\"x\",\"y\",\"z\"]");
        }

        /** Also if it is not solved: the page shows where memory goes. */
        @Test
        void thePageOfAPlanThatDoesNotFitIsWritten() throws IOException {
            final Path page = folder.resolve("plan.html");
            final Outcome outcome = Outcome.of("plan", file(BLOCKS), "--capacity", "650", "--html", page.toString());
            assertThat(outcome.exitCode()).isOne();
            assertThat(page).content().contains("short by at least 50 bytes");
        }

        @Test
        void theFileThatIsReadIsNotWritten() throws IOException {
            final String file = file(BLOCKS);
            for (final String option : new String[] {"--html", "-o", "--json"}) {
                assertFailed(
                        Outcome.of("plan", file, option, file),
                        2,
                        (option.equals("-o") ? "--output" : option) + " " + file + ": is the file that is read");
            }
            assertThat(Path.of(file)).hasContent(BLOCKS);
            final String same = folder.resolve("same").toString();
            assertFailed(
                    Outcome.of("plan", file, "-o", same, "--html", same),
                    2,
                    "--html " + same + ": --output names the same file");
        }

        @Test
        void jsonHasEveryFigure() throws IOException {
            final String json = Outcome.of("plan", file(BLOCKS), "--capacity", "1k", "--json", "-")
                    .out();
            assertThat(json.replaceAll("\"seconds\" : [0-9.E-]+", "\"seconds\" : 0"))
                    .isEqualToIgnoringWhitespace("""
                            {"trace": "in.csv", "blocks": 3, "reserves": 0, "streams": 1, "height": 700, "lower_bound": 700,
                             "gap": 0.0, "optimal": true, "capacity": 1024, "fits": true, "shortfall": 0,
                             "steps": 0, "seconds": 0}""");
        }

        @Test
        void aCapacityThatNoPlanFitsFailsWithTheShortfall() throws IOException {
            final Path plan = folder.resolve("plan.csv");
            final Outcome outcome = Outcome.of("plan", file(BLOCKS), "--capacity", "650", "-o", plan.toString());
            assertFailed(
                    outcome, 1, "in.csv: no plan fits into 650 B (650 bytes): it is short by at least 50 B (50 bytes)");
            assertThat(outcome.out()).containsPattern("capacity +650 B +650 +does not fit");
            assertThat(plan).exists();
        }
    }

    @Nested
    class Check {
        private Outcome check(String blocks) throws IOException {
            return Outcome.of("plan", "--check", file("id,lower,upper,size,alignment,offset\n" + blocks));
        }

        private void assertInvalid(String blocks, String fault) throws IOException {
            final Outcome outcome = check(blocks);
            assertFailed(outcome, 1, folder.resolve("in.csv") + ": no valid plan: " + fault);
            assertThat(outcome.out()).contains("height", "load");
        }

        @Test
        void theHeightAndTheLoadOfAValidPlanAreShown() throws IOException {
            final Outcome outcome = check("x,0,4,300,1,0\ny,2,6,400,64,320\nz,4,8,300,1,0\n");
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).containsPattern("height +720 B +720").containsPattern("load +700 B +700");
        }

        @Test
        void thePlanThatIsWrittenIsValid() throws IOException {
            final String plan = folder.resolve("plan.csv").toString();
            assertThat(Outcome.of("plan", "frcnn", "-o", plan).exitCode()).isZero();
            assertThat(Outcome.of("plan", "--check", plan, "--json", "-").out())
                    .contains("\"valid\" : true")
                    .containsPattern("\"height\" : 2177467[123]\\d\\d,");
        }

        @Test
        void blocksThatShareMemoryAreNamed() throws IOException {
            final String shares = "block y at offset 299 of 400 bytes shares memory at time 2 with block x at offset 0"
                    + " of 300 bytes";
            assertInvalid("x,0,4,300,1,0\ny,2,6,400,1,299\n", shares);
            assertInvalid("y,2,6,400,1,299\nx,0,4,300,1,0\n", shares);
            assertInvalid(
                    "x,0,4,300,1,100\ny,0,4,9,1,500\nz,3,9,100,1,1\n",
                    "block z at offset 1 of 100 bytes shares memory at time 3 with block x at offset 100 of 300 bytes");
            assertInvalid(
                    "x,0,4,300,1,0\ny,0,4,300,1,0\n",
                    "block y at offset 0 of 300 bytes shares memory at time 0 with block x at offset 0 of 300 bytes");
        }

        @Test
        void aBlockThatIsNotAlignedIsNamed() throws IOException {
            assertInvalid("x,0,4,300,64,32\n", "block x at offset 32 is not a multiple of its alignment 64");
        }

        @Test
        void aBlockAboveTheRangeIsNamed() throws IOException {
            assertInvalid(
                    "x,0,4,300,1,9223372036854775807\n",
                    "block x at offset 9223372036854775807 is outside of 0 to 9223372036854775807");
        }

        @Test
        void whatIsNoPlanIsNotChecked() throws IOException {
            final String file = file(BLOCKS);
            assertFailed(
                    Outcome.of("plan", "--check", file),
                    1,
                    file + ": has no column offset, so there is no plan to check");
            assertFailed(
                    Outcome.of("plan", "--check", file, "--capacity", "5"),
                    2,
                    "--check makes no plan: it takes neither --output, --html nor --capacity");
        }
    }

    @Nested
    class Traces {
        @Test
        void streamsShareNoMemory() throws IOException {
            final Path plan = folder.resolve("plan.csv");
            final Outcome outcome = Outcome.of("plan", file(TRACE), "-o", plan.toString());
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.out())
                    .containsPattern("needs +768 B +768")
                    .containsPattern("live bytes, peak +500 B +500 +2 streams, which share no memory");
            assertThat(plan).content().isEqualTo("""
                    id,lower,upper,size,alignment,offset
                    0,0,2,100,256,0
                    1,1,4,300,256,256
                    2,3,4,200,256,0
                    """);
        }

        /** As recorded of a session with weights: an arena that follows the plan serves reserves elsewhere. */
        @Test
        void reservesAreNoBlocksOfThePlan() throws IOException {
            final Path plan = folder.resolve("plan.csv");
            final String trace = file("""
                    op,id,bytes,stream
                    r,0,1024,0
                    a,1,3000,0
                    r,2,512,0
                    a,3,2000,0
                    f,1,3000,0
                    f,3,2000,0
                    f,0,1024,0
                    f,2,512,0
                    """);
            final Outcome planned = Outcome.of("plan", trace, "-o", plan.toString());
            assertThat(planned.out()).startsWith("in.csv, 2 blocks").containsPattern("reserves +2 ");
            final Outcome replayed = Outcome.of(
                    "replay", trace, "--provider", "cpu-reference", "--once", "--option", "arena.plan=" + plan);
            assertThat(replayed.out()).containsPattern("PlannedAllocs +2").containsPattern("PlanMismatches +0");
        }

        @Test
        void aBundledTraceIsPlanned() {
            final Outcome outcome = Outcome.of("plan", "resnet");
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).startsWith("resnet.csv.gz, 1,984 blocks").contains("the least possible");
        }

        @Test
        void withoutTimeTheFirstPlanIsShownAndTheExitCodeIsOne() {
            final Outcome outcome = Outcome.of("plan", "resnet", "--seconds", "0");
            assertThat(outcome.exitCode()).isOne();
            assertThat(outcome.out()).contains("above the lower bound at most");
            assertThat(outcome.err())
                    .startsWith("allocator: resnet.csv.gz: not proved to be the least within ")
                    .endsWith("(--seconds)" + System.lineSeparator());
            assertThat(Outcome.of("plan", "resnet", "--seconds", "0", "--capacity", "313676800")
                            .err())
                    .contains("no plan within 299.1 MiB (313,676,800 bytes) was found in ");
        }
    }

    /** The heuristics, and one descent of the search, without which the plan of the largest trace is near enough. */
    @Nested
    class Heuristics {
        @ParameterizedTest
        @CsvSource({"bert,5", "frcnn,5", "llama_train,5", "resnet,5", "two_streams,5"})
        void plansOfTracesAreNearTheLowerBound(String name, long stepsForEachBlock) {
            requireNear(name, stepsForEachBlock);
        }

        @Test
        @Tag("thorough")
        void thePlanOfTheLargestTraceIsNearTheLowerBound() {
            requireNear("gpt2", 1);
        }

        private static void requireNear(String name, long stepsForEachBlock) {
            final PlanInput input = PlanInput.read(
                    name, Terminal.of(new PrintWriter(Writer.nullWriter()), new PrintWriter(Writer.nullWriter())));
            for (int group = 0; group < input.groups().size(); group++) {
                final Instance instance = input.group(group);
                final Plan plan = Planner.builder()
                        .timeLimit(Duration.ofHours(1))
                        .stepLimit(stepsForEachBlock * instance.size())
                        .build()
                        .plan(instance);
                assertThat(plan.gap()).as("group %d", group).isLessThanOrEqualTo(0.03);
            }
        }
    }

    @Nested
    class WrongInput {
        @Test
        void anInvalidFileIsOneLine() throws IOException {
            final String file = file("id,lower,upper,size\n0,5,2,1\n");
            assertFailed(Outcome.of("plan", file), 1, file + ":2: a lifetime ends before it begins: [5, 2)");
            assertThat(Outcome.of("plan", file("neither,nor\n")).exitCode()).isOne();
        }

        @Test
        void moreBytesThanCanBePlannedAreOneLine() throws IOException {
            final String file = file("id,lower,upper,size\n0,0,2,4611686018427387904\n1,1,2,1\n");
            assertFailed(
                    Outcome.of("plan", file),
                    1,
                    "in.csv: the blocks that live at time 1 need more than 4611686018427387904 bytes together");
        }

        @Test
        void wrongOptionsAreWrongUsage() throws IOException {
            final String file = file(BLOCKS);
            assertFailed(Outcome.of("plan", file, "--capacity", "0"), 2, "--capacity 0: is less than 1");
            assertFailed(Outcome.of("plan", file, "--seconds", "-1"), 2, "--seconds -1.0: is not from 0 to 2147483647");
            assertFailed(Outcome.of("plan", file, "--seconds", "NaN"), 2, "--seconds NaN: is not from 0 to 2147483647");
            assertFailed(Outcome.of("plan", file, "-o", ""), 2, "--output: the name is empty");
            assertThat(Outcome.of("plan", "nothing").exitCode()).isEqualTo(2);
            assertThat(Outcome.of("plan").exitCode()).isEqualTo(2);
        }
    }
}
