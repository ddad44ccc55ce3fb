package allocator.cli;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.runtime.AllocatorReport.Setting;
import allocator.spi.ShrinkReport;
import allocator.trace.ReplayResult;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Prints the results of replays with several policies for people to read: a column for each policy, 80 columns wide in
 * all. Policies that find no room are in further tables below.
 */
final class PolicyText {
    /**
     * The result of a replay with a policy.
     *
     * @param policy the value of {@code arena.policy} that was asked for; empty if none was
     * @param result the result
     */
    record PolicyResult(String policy, ReplayResult result) {}

    private static final String NOT_COUNTED = "-";
    private static final int POLICIES_PER_TABLE = 3;
    private static final int POLICIES_PER_TABLE_OF_BYTES = 2;
    private static final int POLICIES_PER_TABLE_OF_TRACES = 2;

    private final Terminal terminal;
    private final PrintWriter out;
    private final boolean hasExactBytes;

    PolicyText(Terminal terminal, boolean hasExactBytes) {
        this.terminal = terminal;
        out = terminal.out();
        this.hasExactBytes = hasExactBytes;
    }

    /** Prints the results: a list for each trace, with a result for each policy. */
    void print(List<List<PolicyResult>> traces) {
        final List<PolicyResult> first = traces.getFirst();
        if (traces.size() == 1) {
            printOne(first);
        } else {
            printRows(traces);
        }
        printSettings(first);
    }

    private void printOne(List<PolicyResult> results) {
        final ReplayResult first = results.getFirst().result();
        terminal.printHeading(
                first.trace(), ", " + Sizes.exact(first.events()) + " events on " + ReplayText.where(first));
        printSavings(results);
        for (final List<PolicyResult> shown :
                parts(results, hasExactBytes ? POLICIES_PER_TABLE_OF_BYTES : POLICIES_PER_TABLE)) {
            out.println();
            printMemory(shown);
            out.println();
            printTimes(shown);
        }
        out.println();
        out.println("  " + Sizes.count(first.allocations(), "allocation") + ", "
                + (hasFailures(results) ? "" : "none failed, ") + Sizes.count(first.frees(), "free"));
        for (final PolicyResult one : results) {
            for (final ShrinkReport.Held part : one.result().heldAfterShrink()) {
                out.println();
                out.println("  " + bytes(part.bytes()) + " of " + one.policy() + " stay after the shrink:");
                out.println("    " + part.reason());
            }
        }
    }

    private static boolean hasPages(List<PolicyResult> results) {
        return results.stream().anyMatch(one -> one.result().pageMapsWarm().isPresent());
    }

    private static boolean hasFailures(List<PolicyResult> results) {
        return results.stream().anyMatch(one -> one.result().failedAllocations() > 0);
    }

    /** Prints how much less, or more, is held than with the first policy. */
    private void printSavings(List<PolicyResult> results) {
        final PolicyResult first = results.getFirst();
        final long held = first.result().peakHeldBytes();
        for (final PolicyResult one : results.subList(1, results.size())) {
            final long other = one.result().peakHeldBytes();
            if (held > 0 && one.result().isCounted()) {
                final long percent = Math.round(100.0 * (other - held) / held);
                final String difference = percent == 0
                        ? "as much as "
                        : Math.abs(percent) + " % " + (percent < 0 ? "less than " : "more than ");
                terminal.printHeading(
                        one.policy() + " holds " + difference + first.policy(),
                        ": " + bytes(other) + (percent == 0 ? "" : ", not " + bytes(held)));
            }
        }
    }

    private void printMemory(List<PolicyResult> shown) {
        final TextTable table = new TextTable("  ", "l" + "rl".repeat(shown.size()));
        row(table, "memory", shown, one -> Stream.of(one.policy(), ""));
        memory(table, "requested, peak", shown, result -> bytes(result.peakRequestedBytes()));
        memory(table, "in use, peak", shown, result -> counted(result, result.peakInUseBytes()));
        row(table, "held, peak", shown, this::held);
        memory(table, "held after shrink", shown, result -> counted(result, result.bytesHeldAfterShrink()));
        memory(table, "largest block", shown, result -> counted(result, result.maxAllocSize()));
        if (hasPages(shown)) {
            memory(table, "page maps, warm", shown, PolicyText::pageMaps);
        }
        if (hasFailures(shown)) {
            memory(table, "failed", shown, result -> Sizes.exact(result.failedAllocations()));
        }
        terminal.printTable(table);
    }

    private void printTimes(List<PolicyResult> shown) {
        final TextTable table = new TextTable("  ", "l" + "r".repeat(shown.size()));
        row(table, "time per event", shown, one -> Stream.of(one.policy()));
        row(table, "first", shown, one -> Stream.of(Sizes.time(one.result().nsPerEventFirst())));
        row(table, "cold", shown, one -> Stream.of(Sizes.time(one.result().nsPerEventCold())));
        row(table, "warm", shown, one -> Stream.of(Sizes.time(one.result().nsPerEventWarm())));
        terminal.printTable(table);
    }

    private void printRows(List<List<PolicyResult>> traces) {
        final List<PolicyResult> all = traces.stream().flatMap(List::stream).toList();
        terminal.printHeading(
                Sizes.exact(traces.size()) + " traces",
                " on " + ReplayText.where(all.getFirst().result()));
        final List<List<List<PolicyResult>>> blocks = blocks(traces);
        blocks.forEach(this::printHeld);
        blocks.forEach(this::printTimesOf);
        if (hasPages(all)) {
            blocks.forEach(shown -> printColumns("page maps, warm", shown, PolicyText::pageMaps));
        }
        if (hasFailures(all)) {
            blocks.forEach(shown -> printColumns("failed", shown, result -> Sizes.exact(result.failedAllocations())));
        }
    }

    /** Returns the traces with the first policies, those with the next ones, and so on. */
    private static List<List<List<PolicyResult>>> blocks(List<List<PolicyResult>> traces) {
        final List<List<List<PolicyResult>>> ofTraces = traces.stream()
                .map(results -> parts(results, POLICIES_PER_TABLE_OF_TRACES))
                .toList();
        return IntStream.range(0, ofTraces.getFirst().size())
                .mapToObj(
                        part -> ofTraces.stream().map(trace -> trace.get(part)).toList())
                .toList();
    }

    private void printHeld(List<List<PolicyResult>> traces) {
        final List<PolicyResult> policies = traces.getFirst();
        final TextTable table = new TextTable("  ", "lr" + "rl".repeat(policies.size()));
        rowOf(table, Stream.of("held, peak", "requested"), policies, one -> Stream.of(one.policy(), ""));
        for (final List<PolicyResult> trace : traces) {
            final ReplayResult first = trace.getFirst().result();
            rowOf(
                    table,
                    Stream.of(ReplayText.shortName(first.trace()), bytes(first.peakRequestedBytes())),
                    trace,
                    this::held);
        }
        out.println();
        terminal.printTable(table);
    }

    private void printTimesOf(List<List<PolicyResult>> traces) {
        final List<PolicyResult> policies = traces.getFirst();
        final TextTable table = new TextTable("  ", "l" + "rrr".repeat(policies.size()));
        row(table, "ns per event", policies, one -> Stream.of(one.policy(), "", ""));
        row(table, "", policies, _ -> Stream.of("first", "cold", "warm"));
        printRows(
                table,
                traces,
                one -> Stream.of(
                        Sizes.nanos(one.result().nsPerEventFirst()),
                        Sizes.nanos(one.result().nsPerEventCold()),
                        Sizes.nanos(one.result().nsPerEventWarm())));
    }

    /** Prints a table of one figure: a row for each trace, a column for each policy. */
    private void printColumns(String title, List<List<PolicyResult>> traces, Function<ReplayResult, String> figure) {
        final TextTable table =
                new TextTable("  ", "l" + "r".repeat(traces.getFirst().size()));
        row(table, title, traces.getFirst(), one -> Stream.of(one.policy()));
        printRows(table, traces, one -> Stream.of(figure.apply(one.result())));
    }

    private void printRows(
            TextTable table, List<List<PolicyResult>> traces, Function<PolicyResult, Stream<String>> cells) {
        for (final List<PolicyResult> trace : traces) {
            row(table, ReplayText.shortName(trace.getFirst().result().trace()), trace, cells);
        }
        out.println();
        terminal.printTable(table);
    }

    /** Prints each effective option once; those that not all policies have with the names of policies. */
    private void printSettings(List<PolicyResult> results) {
        final Map<List<String>, List<String>> policies = new LinkedHashMap<>();
        for (final PolicyResult one : results) {
            for (final Setting setting : one.result().allocator().settings()) {
                final String effective = setting.effective();
                if (effective != null) {
                    policies.computeIfAbsent(
                                    List.of(setting.key(), effective, setting.origin()), key -> new ArrayList<>())
                            .add(one.policy());
                }
            }
        }
        final TextTable table = new TextTable("  ", "lrll").row("effective option", "value", "from", "of");
        policies.entrySet().stream()
                .sorted(Map.Entry.comparingByKey((a, b) -> a.getFirst().compareTo(b.getFirst())))
                .forEach(entry ->
                        table.row(Stream.concat(entry.getKey().stream(), Stream.of(whose(entry.getValue(), results)))
                                .toArray(String[]::new)));
        if (!policies.isEmpty()) {
            out.println();
            terminal.printTable(table);
        }
    }

    /** Returns which policies have a setting, in few words; nothing if all have it. */
    private static String whose(List<String> policies, List<PolicyResult> results) {
        final List<String> others = results.stream()
                .map(PolicyResult::policy)
                .filter(policy -> !policies.contains(policy))
                .toList();
        return others.isEmpty()
                ? ""
                : others.size() < policies.size() ? "not " + String.join(", ", others) : String.join(", ", policies);
    }

    /** Returns the results in parts of as many as find room beside one another. */
    private static List<List<PolicyResult>> parts(List<PolicyResult> results, int most) {
        return IntStream.iterate(0, from -> from < results.size(), from -> from + most)
                .mapToObj(from -> results.subList(from, Math.min(from + most, results.size())))
                .toList();
    }

    /** Adds a row of one figure each, beside which the place for the ratio is empty. */
    private static void memory(
            TextTable table, String name, List<PolicyResult> results, Function<ReplayResult, String> figure) {
        row(table, name, results, one -> Stream.of(figure.apply(one.result()), ""));
    }

    private static void row(
            TextTable table, String name, List<PolicyResult> results, Function<PolicyResult, Stream<String>> cells) {
        rowOf(table, Stream.of(name), results, cells);
    }

    private static void rowOf(
            TextTable table,
            Stream<String> begin,
            List<PolicyResult> results,
            Function<PolicyResult, Stream<String>> cells) {
        table.row(Stream.concat(begin, results.stream().flatMap(cells)).toArray(String[]::new));
    }

    private Stream<String> held(PolicyResult one) {
        final ReplayResult result = one.result();
        return Stream.of(
                counted(result, result.peakHeldBytes()),
                result.isCounted() ? Sizes.ratio(result.heldOverRequested()) + " x" : "");
    }

    private String counted(ReplayResult result, long bytes) {
        return result.isCounted() ? bytes(bytes) : NOT_COUNTED;
    }

    private static String pageMaps(ReplayResult result) {
        final OptionalLong maps = result.pageMapsWarm();
        return maps.isPresent() ? Sizes.exact(maps.getAsLong()) : NOT_COUNTED;
    }

    private String bytes(long bytes) {
        return hasExactBytes ? Sizes.exact(bytes) : Sizes.human(bytes);
    }
}
