package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/** One test for each line {@code cell|way|provider|result} that a program printed. */
final class Cells {
    /** What every way in has; a program that dies early has fewer. */
    static final List<String> HOST = List.of(
            "cpu-reference plan",
            "cpu-reference best-fit",
            "cpu-reference best-fit, regions as requested",
            "cpu-reference slabs",
            "cpu-reference compact",
            "cpu-reference bump",
            "cpu-reference has these policies",
            "buddy, of a vendor",
            "vendor-gpu, of a vendor on java.allocator.cuda.memory",
            "cuda-arena without a GPU",
            "cuda-mempool without a GPU",
            "every provider found");

    private static final List<String> SIMULATED = List.of(
            "cuda-arena simulated",
            "cuda-arena simulated compact",
            "cuda-arena simulated pool",
            "cuda-mempool simulated");

    private Cells() {}

    /** Returns the tests of a day on the host's memory, and on the simulated device. */
    static Stream<DynamicTest> ofDay(String way, Started started) {
        return of(way, started, Stream.concat(HOST.stream(), SIMULATED.stream()).toList());
    }

    /** Returns the tests of a day without the simulated device. */
    static Stream<DynamicTest> ofDayOfHost(String way, Started started) {
        return of(way, started, HOST);
    }

    /**
     * Returns the tests of a way in.
     *
     * @param expected the cells that there must be
     */
    static Stream<DynamicTest> of(String way, Started started, List<String> expected) {
        final Map<String, String> results = new LinkedHashMap<>();
        started.output().lines().map(line -> line.split("\\|", 4)).forEach(line -> {
            if (line[0].equals("cell") && line[1].equals(way)) {
                results.put(line[2], line[3]);
            }
        });
        final List<DynamicTest> tests = new ArrayList<>();
        results.forEach((cell, result) -> tests.add(
                dynamicTest(way + " × " + cell, () -> assertThat(result).isEqualTo("ok"))));
        expected.stream()
                .filter(cell -> !results.containsKey(cell))
                .forEach(cell -> tests.add(dynamicTest(
                        way + " × " + cell,
                        () -> fail("the program printed no result; exit code " + started.code() + ": "
                                + started.output()))));
        tests.add(dynamicTest(way + " × the program ends well", () -> {
            assertThat(started.code()).as(started.output()).isZero();
            assertThat(warnings(started)).isEmpty();
        }));
        return tests.stream();
    }

    /** Everything on the streams that is neither a result nor expected: a library is quiet. */
    private static List<String> warnings(Started started) {
        final Set<String> known = Set.of("cell", "day");
        return started.output()
                .lines()
                .filter(line -> !known.contains(line.split("\\|", 2)[0]))
                // A plan that does not fit says so.
                .filter(line ->
                        !line.contains("allocator.arena.plan.PlannedAllocator") && !line.contains("and the plan "))
                .toList();
    }
}
