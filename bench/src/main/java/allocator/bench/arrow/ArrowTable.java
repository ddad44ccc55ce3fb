package allocator.bench.arrow;

import allocator.bench.sampling.Statistics;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The figures of all rounds as a page, with what is required of them. */
final class ArrowTable {
    /** From this size on our memory is not to be slower than {@code unsafe}; below, by a fifth at most. */
    private static final long EQUAL_FROM = 1 << 16;

    private static final double MOST_BELOW = 1.2;

    /** From this size on our memory is to be ten times as fast as {@code netty}. */
    private static final long TENFOLD_FROM = 1 << 24;

    private static final double TENFOLD = 10;

    private final List<Manager> managers;
    private final Map<Manager, Map<String, List<Double>>> figures = new EnumMap<>(Manager.class);

    ArrowTable(List<Manager> managers) {
        this.managers = managers;
        managers.forEach(manager -> figures.put(manager, new HashMap<>()));
    }

    /** Adds the lines of a round. */
    void add(Manager manager, List<String> lines) {
        final Map<String, List<Double>> ofManager = figures.getOrDefault(manager, Map.of());
        for (final String line : lines) {
            final int end = line.lastIndexOf(' ');
            ofManager
                    .computeIfAbsent(line.substring(0, end), key -> new ArrayList<>())
                    .add(Double.parseDouble(line.substring(end + 1)));
        }
    }

    private List<Double> values(Manager manager, String key) {
        return figures.getOrDefault(manager, Map.of()).getOrDefault(key, List.of());
    }

    private double median(Manager manager, String key) {
        return Statistics.median(values(manager, key));
    }

    private static String key(long size) {
        return "ns " + size;
    }

    String toMarkdown() {
        final StringBuilder page = new StringBuilder();
        page.append("## One pair of close and allocation: ns\n\n")
                .append("Median of the rounds (lowest–highest), processor time of the thread.\n\n");
        header(page, "size");
        for (final long size : ArrowMeasurement.SIZES) {
            row(page, text(size), manager -> {
                final List<Double> values = values(manager, key(size));
                return number(Statistics.median(values)) + " (" + number(Statistics.min(values)) + "–"
                        + number(Statistics.max(values)) + ")";
            });
        }
        page.append("\nThe time over that of `unsafe`, median of the rounds' ratios: below 1 it is faster.\n\n");
        header(page, "size");
        for (final long size : ArrowMeasurement.SIZES) {
            row(page, text(size), manager -> number(ratio(manager, Manager.UNSAFE, size)));
        }
        page.append("\n## Resident after a burst: MiB\n\n")
                .append(ArrowMeasurement.BURST_MIB)
                .append(" buffers of 1 MiB are allocated, touched and closed. What the process grew by, median of the"
                        + " rounds.\n\n");
        header(page, "when");
        row(page, "all are live", resident("burst"));
        row(page, "all are closed", resident("after"));
        row(page, "after `shrink()`, where there is one", resident("shrunk"));
        page.append("\n## Required\n\n");
        managers.stream().filter(Manager::isOurs).forEach(manager -> required(page, manager));
        return page.toString();
    }

    /** Returns a power of two as people write it. */
    private static String text(long size) {
        return size < 1 << 10 ? size + " B" : size < 1 << 20 ? (size >> 10) + " KiB" : (size >> 20) + " MiB";
    }

    private Cell resident(String key) {
        return manager -> number(median(manager, key));
    }

    /** The text of a manager in a row. */
    private interface Cell {
        String of(Manager manager);
    }

    private void header(StringBuilder page, String first) {
        row(page, first, Manager::toString);
        page.append("|---|").append("---:|".repeat(managers.size())).append('\n');
    }

    private void row(StringBuilder page, String first, Cell cell) {
        page.append("| ").append(first).append(" |");
        managers.forEach(manager -> page.append(' ').append(cell.of(manager)).append(" |"));
        page.append('\n');
    }

    private void required(StringBuilder page, Manager manager) {
        final double below = most(size -> size < EQUAL_FROM ? ratio(manager, Manager.UNSAFE, size) : 0);
        final double from = most(size -> size >= EQUAL_FROM ? ratio(manager, Manager.UNSAFE, size) : 0);
        page.append("- ").append(manager).append(": below 64 KiB at most ").append(number(below));
        page.append(" of unsafe's time (").append(met(below <= MOST_BELOW)).append(", 1.2); from 64 KiB on ");
        page.append(number(from)).append(" (").append(met(from <= 1)).append(", 1)");
        if (managers.contains(Manager.NETTY)) {
            final double ofNetty = most(size -> size >= TENFOLD_FROM ? ratio(manager, Manager.NETTY, size) : 0);
            page.append("; from 16 MiB on at least ").append(number(1 / ofNetty));
            page.append(" times as fast as netty (")
                    .append(met(1 / ofNetty >= TENFOLD))
                    .append(", 10)");
        }
        page.append('\n');
    }

    /** Returns the median of the ratios of each round; not a number if one of the two was not measured. */
    private double ratio(Manager manager, Manager rival, long size) {
        final List<Double> own = values(manager, key(size));
        final List<Double> others = values(rival, key(size));
        final List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < Math.min(own.size(), others.size()); round++) {
            ratios.add(own.get(round) / others.get(round));
        }
        return Statistics.median(ratios);
    }

    private static double most(ToDoubleFunction<Long> ofSize) {
        return ArrowMeasurement.SIZES.stream().mapToDouble(ofSize).max().orElseThrow();
    }

    private static String met(boolean isMet) {
        return isMet ? "met" : "not met";
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, Math.abs(value) >= 99.995 ? "%,.0f" : "%.2f", value);
    }
}
