package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.trace.Recorder;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplayCommandTest {
    @TempDir
    private Path folder;

    private Path trace;

    @BeforeEach
    void writeTrace() throws IOException {
        trace = Files.writeString(folder.resolve("small.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,300000,0
                a,3,600000,0
                f,2,300000,0
                a,4,100000,0
                a,5,200000,0
                """);
    }

    /** The objects of an array; objects within them as text. */
    private static List<Map<String, String>> objects(String json) throws IOException {
        final List<Map<String, String>> objects = new ArrayList<>();
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            assertThat(parser.nextToken()).isEqualTo(JsonToken.START_ARRAY);
            while (parser.nextToken() == JsonToken.START_OBJECT) {
                final Map<String, String> fields = new LinkedHashMap<>();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    final String name = parser.currentName();
                    if (parser.nextToken() == JsonToken.START_OBJECT) {
                        fields.put(name, object(parser));
                    } else if (parser.currentToken() == JsonToken.START_ARRAY) {
                        fields.put(name, array(parser));
                    } else {
                        fields.put(name, parser.getText());
                    }
                }
                objects.add(fields);
            }
            assertThat(parser.nextToken()).isNull();
        }
        return objects;
    }

    private static String array(JsonParser parser) throws IOException {
        final List<String> values = new ArrayList<>();
        while (parser.nextToken() == JsonToken.START_OBJECT) {
            values.add(object(parser));
        }
        return String.join("; ", values);
    }

    private static String object(JsonParser parser) throws IOException {
        final List<String> pairs = new ArrayList<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            pairs.add(parser.currentName() + "=" + text(parser));
        }
        return String.join(" ", pairs);
    }

    private static String text(JsonParser parser) throws IOException {
        parser.nextToken();
        return parser.getText();
    }

    @Test
    void replaysARecordedSession() throws IOException {
        final Path recorded = folder.resolve("recorded.csv.gz");
        try (Environment environment = Environment.builder().build();
                Recorder recorder = new Recorder(recorded);
                Session session = environment.openSession(SessionOptions.builder()
                        .provider("cpu-reference")
                        .decorator(recorder::wrap)
                        .build())) {
            session.run(RunOptions.DEFAULT, run -> {
                final long kept = run.allocator().reserve(10_000);
                run.allocator().free(run.allocator().allocOnStream(300_000, run.stream(0)));
                run.allocator().free(kept);
            });
        }
        final Outcome outcome =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "--bytes", recorded.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.out()).contains("recorded.csv.gz, 4 events on cpu:0", "310,000", "none failed");
        assertThat(outcome.exitCode()).isZero();
    }

    @Test
    void showsATableOfOneTrace() {
        final Outcome outcome = Outcome.of("replay", "--provider", "cpu-reference", "--once", trace.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .startsWith("""
                        small.csv, 6 events on cpu:0 through cpu-reference

                          memory                            bytes
                          requested, peak    879.9 KiB    901,000  live blocks, as requested
                          in use, peak        1.00 MiB  1,048,832  live blocks, with padding
                          held, peak          3.00 MiB  3,145,728  3.49 x requested
                          in use at the end   1.00 MiB  1,048,832  4 live blocks
                          held at the end     3.00 MiB  3,145,728  2 regions
                          held after shrink   1.00 MiB  1,048,576  1 region returned
                          largest block      730.0 KiB    747,520

                          time per event\s""")
                .contains("""
                          5 allocations, none failed, 1 free

                          1.00 MiB stay after the shrink:
                            the first region, which arena.keep_first_region=0 returns
                        """)
                .contains("  arena.exclusive                                 1  replay\n");
    }

    @Test
    void fitsInEightyColumns() {
        for (final String text : List.of(
                Outcome.of("replay", "--provider", "cpu-reference", "--once", trace.toString())
                        .out(),
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "resnet", "two_streams", trace.toString())
                        .out(),
                policies("--once", "--policies", "best-fit,slabs,compact", trace.toString())
                        .out(),
                policies("--once", "--policies", "compact,best-fit", "--bytes", "gpt2", trace.toString())
                        .out(),
                policies("--once", "--policies", "best-fit,slabs,compact", "gpt2", trace.toString())
                        .out(),
                Outcome.of("replay", "--help").out(),
                Outcome.of("providers").out(),
                Outcome.of("providers", "--verbose").out(),
                Outcome.of("--help").out())) {
            // But for paths, which cannot be broken.
            assertThat(text.lines().filter(line -> !line.startsWith("  from file:")))
                    .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
        }
    }

    @Test
    void showsARowForEachOfSeveralTraces() {
        final Outcome outcome =
                Outcome.of("replay", "--provider", "cpu-reference", "--once", "resnet", trace.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .startsWith("2 traces on cpu:0 through cpu-reference")
                .containsPattern("resnet +3,966  299.1 MiB +511.0 MiB +1.71 ")
                .containsPattern("small +6 +879.9 KiB +3.00 MiB +3.49 ");
        assertThat(Outcome.of("replay", "--provider", "cpu-reference", "--once", "--bytes", "resnet", trace.toString())
                        .out())
                .containsPattern("resnet +3,966  313,663,560  535,822,336 +1.71 ");
    }

    @Test
    void writesAnArrayOfNamedFiguresToAFile() throws IOException {
        final Path json = folder.resolve("out.json");
        final Outcome outcome = Outcome.of(
                "replay",
                trace.toString(),
                "--provider",
                "cpu-reference",
                "--json",
                json.toString(),
                "--option",
                "arena.initial_chunk_size_bytes=67108864",
                "--option",
                "arena.max_mem=67108864",
                "--option",
                "arena.max_dead_bytes_per_chunk=4096");
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        final List<Map<String, String>> objects = objects(Files.readString(json));
        assertThat(objects).hasSize(1);
        final Map<String, String> figures = objects.getFirst();
        assertThat(figures.keySet())
                .containsExactly(
                        "trace",
                        "provider",
                        "device",
                        "memory",
                        "options",
                        "option_origins",
                        "events",
                        "allocations",
                        "frees",
                        "failed_allocations",
                        "peak_requested_bytes",
                        "peak_in_use_bytes",
                        "peak_held_bytes",
                        "held_over_requested",
                        "in_use_at_end_bytes",
                        "held_at_end_bytes",
                        "live_at_end",
                        "max_alloc_size",
                        "extensions",
                        "shrinkages",
                        "bytes_held_after_shrink",
                        "held_after_shrink",
                        "counters_at_end",
                        "page_maps_warm",
                        "peak_physical_bytes",
                        "peak_mapped_bytes",
                        "ns_per_event_first",
                        "ns_per_event_cold",
                        "ns_per_event_warm");
        assertThat(figures)
                .containsEntry("trace", "small.csv")
                .containsEntry("provider", "cpu-reference")
                .containsEntry("device", "cpu:0")
                .containsEntry("events", "6")
                .containsEntry("allocations", "5")
                .containsEntry("frees", "1")
                .containsEntry("failed_allocations", "0")
                .containsEntry("peak_requested_bytes", "901000")
                .containsEntry("peak_in_use_bytes", "901376")
                .containsEntry("peak_held_bytes", "67108864")
                .containsEntry("held_over_requested", "74.4826")
                .containsEntry("in_use_at_end_bytes", "901376")
                .containsEntry("held_at_end_bytes", "67108864")
                .containsEntry("live_at_end", "4")
                .containsEntry("max_alloc_size", "600064")
                .containsEntry("extensions", "1")
                .containsEntry("shrinkages", "0")
                .containsEntry("bytes_held_after_shrink", "67108864")
                .containsEntry("page_maps_warm", "null")
                .containsEntry("peak_physical_bytes", "null")
                .containsEntry("peak_mapped_bytes", "null");
        assertThat(figures.get("options"))
                .contains("arena.initial_chunk_size_bytes=67108864", "arena.max_mem=67108864", "arena.exclusive=1");
        assertThat(figures.get("option_origins"))
                .contains("arena.max_mem=--option", "arena.exclusive=replay", "arena.extend_strategy=default");
        assertThat(Double.parseDouble(figures.get("ns_per_event_first"))).isPositive();
        assertThat(Double.parseDouble(figures.get("ns_per_event_cold"))).isPositive();
        assertThat(Double.parseDouble(figures.get("ns_per_event_warm"))).isPositive();
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactlyInAnyOrder(json, trace);
        }
    }

    @Test
    void writesJsonInsteadOfTheTableToStandardOutput() throws IOException {
        final Outcome outcome = Outcome.of("--provider", "cpu-reference", "--once", "--json", "-");
        assertThat(outcome.err()).isEmpty();
        assertThat(objects(outcome.out()))
                .singleElement()
                .satisfies(figures -> assertThat(figures)
                        .containsEntry("trace", "gpt2.csv.gz")
                        .containsEntry("events", "157934")
                        .containsEntry("peak_requested_bytes", "567300537")
                        .containsEntry("peak_held_bytes", "1073741824"));
    }

    @Test
    void keepsTheOldFileIfTheWorkFails() throws IOException {
        final Path json = Files.writeString(folder.resolve("out.json"), "before");
        assertThat(Outcome.of("replay", "--json", json.toString(), "nothing.csv")
                        .exitCode())
                .isEqualTo(2);
        assertThat(json).hasContent("before");
    }

    private static Outcome policies(String... arguments) {
        return Outcome.of(Stream.concat(Stream.of("replay", "--provider", "cpu-reference"), Stream.of(arguments))
                .toArray(String[]::new));
    }

    @Nested
    class SideBySide {
        @Test
        void showsAColumnForEachPolicy() {
            final Outcome outcome = policies("--once", "--policies", "best-fit,compact", trace.toString());
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).containsPattern("""
                            ^small.csv, 6 events on cpu:0 through cpu-reference
                            compact holds \\d+ % less than best-fit: [12].\\d\\d MiB, not 3.00 MiB

                              memory              best-fit            compact
                              requested, peak    879.9 KiB          879.9 KiB
                              in use, peak        1.00 MiB          880.\\d KiB
                              held, peak          3.00 MiB  3.49 x   [12].\\d\\d MiB  [12].\\d\\d x
                              held after shrink   1.00 MiB                0 B
                              largest block      730.0 KiB          586.0 KiB

                              time per event +best-fit +compact
                              first\\s""").contains("""

                              5 allocations, none failed, 1 free

                              1.00 MiB of best-fit stay after the shrink:
                                the first region, which arena.keep_first_region=0 returns

                              effective option                            value  from        of
                              arena.allocations_per_move                   1000  default     compact
                              arena.exclusive                                 1  replay
                              arena.extend_strategy                           0  default     best-fit
                            """).endsWith("""
                              arena.policy                             best-fit  --policies  best-fit
                              arena.policy                              compact  --policies  compact
                              arena.slack_percent                             4  default     compact
                            """);
        }

        @Test
        void showsARowForEachOfSeveralTracesAndWhatFailed() {
            final Outcome outcome = policies(
                    "--once",
                    "--policies",
                    "compact,best-fit",
                    "--option",
                    "arena.max_mem=700000",
                    trace.toString(),
                    trace.toString());
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.out()).containsPattern("""
                            ^2 traces on cpu:0 through cpu-reference

                              held, peak  requested +compact +best-fit
                              small       [23].*KiB +[0-9.]+ KiB  \\d.\\d\\d x  [0-9.]+ KiB  \\d.\\d\\d x
                            """).containsPattern("""

                              ns per event +compact +best-fit
                               +first +cold +warm +first +cold +warm
                              small +[0-9,]+ +- +- +[0-9,]+ +- +-
                            """).containsPattern("""

                              failed  compact  best-fit
                              small         \\d         \\d
                              small         \\d         \\d
                            """);
        }

        @Test
        void countsPagesThatAWarmReplayMaps() throws IOException {
            final Path json = folder.resolve("out.json");
            final Outcome outcome =
                    policies("--policies", "best-fit,compact", trace.toString(), "--json", json.toString());
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.out())
                    .containsPattern("\n  page maps, warm +- +0\n")
                    .containsPattern("\n  warm +[0-9.]+ [nµm]s +[0-9.]+ [nµm]s\n");
            final List<Map<String, String>> objects = objects(Files.readString(json));
            assertThat(objects).hasSize(2);
            assertThat(objects.getFirst().get("options")).contains("arena.policy=best-fit");
            assertThat(objects.getFirst()).containsEntry("page_maps_warm", "null");
            assertThat(objects.getLast().get("options")).contains("arena.policy=compact");
            assertThat(objects.getLast())
                    .containsEntry("page_maps_warm", "0")
                    .hasEntrySatisfying(
                            "peak_physical_bytes",
                            bytes -> assertThat(Long.parseLong(bytes)).isBetween(901_000L, 3_000_000L))
                    .hasEntrySatisfying(
                            "peak_mapped_bytes",
                            bytes -> assertThat(Long.parseLong(bytes)).isGreaterThanOrEqualTo(901_000));
        }

        @Test
        void whereMostAllocationsFailTheFirstLineSaysSoAndTheExitCodeIsItsOwn() {
            final Outcome outcome =
                    policies("--once", "--policies", "best-fit", "--option", "arena.max_mem=65536", trace.toString());
            assertThat(outcome.out().lines())
                    .first()
                    .isEqualTo("small.csv with best-fit: 4 of 5 allocations failed for lack of memory: the figures are"
                            + " those of the others");
            assertThat(outcome.exitCode()).isEqualTo(4);
        }

        @Test
        void strictNamesThePolicyThatFailed() {
            final Outcome outcome = policies(
                    "--once",
                    "--strict",
                    "--policies",
                    "compact,best-fit",
                    "--option",
                    "arena.max_mem=700000",
                    trace.toString());
            assertThat(outcome.exitCode()).isEqualTo(1);
            assertThat(outcome.err())
                    .startsWith("allocator: small.csv with compact: ")
                    .endsWith(" of 5 allocations failed for lack of memory (--strict)" + System.lineSeparator())
                    .hasLineCount(1);
            assertThat(outcome.out()).contains("\n  failed  ", "5 allocations, 1 free");
        }
    }
}
