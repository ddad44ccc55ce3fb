package allocator.bench.pairs;

import allocator.bench.pairs.Figures.Row;
import allocator.bench.report.Picture;
import allocator.bench.subject.SubjectType;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.CategoryStyler;

/** The figures as a picture: nanoseconds per pair on a logarithmic axis, one thread above, two threads below. */
record RivalsPicture(Figures figures) {
    private static final int HEIGHT = 430;

    /** What is drawn, and how; the JDK's arenas would take most of the axis. */
    private static final Map<SubjectType, Color> COLORS = colors();

    private static Map<SubjectType, Color> colors() {
        final Map<SubjectType, Color> colors = new LinkedHashMap<>();
        colors.put(SubjectType.ARENA, new Color(0x0b4f9e));
        colors.put(SubjectType.ARENA_SLABS, new Color(0x3d86d6));
        colors.put(SubjectType.ARENA_COMPACT, new Color(0x6a3fa0));
        colors.put(SubjectType.ARENA_STREAMS, new Color(0x9cc7f2));
        colors.put(SubjectType.ORT, new Color(0xd9572b));
        colors.put(SubjectType.NETTY_POOLED, new Color(0x2f8f4e));
        colors.put(SubjectType.NETTY_ADAPTIVE, new Color(0x8fcf9f));
        colors.put(SubjectType.ARROW, new Color(0xd9b310));
        colors.put(SubjectType.MALLOC, new Color(0x4d4d4d));
        colors.put(SubjectType.JEMALLOC, new Color(0x808080));
        colors.put(SubjectType.MIMALLOC, new Color(0xa8a8a8));
        colors.put(SubjectType.TCMALLOC, new Color(0xcfcfcf));
        return colors;
    }

    /** Writes the picture; returns whether there was anything to draw. */
    boolean write(Path file) throws IOException {
        final List<CategoryChart> charts = new ArrayList<>();
        addChart(charts, 1, "One thread: ns per pair of free and allocation (processor time)");
        addChart(charts, 2, "Two threads on one allocator: ns per pair and thread (time that passed)");
        if (charts.isEmpty()) {
            return false;
        }
        Picture.write(charts, HEIGHT, file);
        return true;
    }

    private void addChart(List<CategoryChart> charts, int threads, String title) {
        final List<SubjectType> subjects = COLORS.keySet().stream()
                .filter(type ->
                        figures.rows().stream().anyMatch(row -> row.subject().equals(type.toString())))
                .toList();
        final List<String> workloads = Workload.names().stream()
                .filter(workload -> !Workload.SCALES.contains(workload))
                .filter(workload -> subjects.stream().anyMatch(type -> figures.has(row(type, workload, threads))))
                .toList();
        if (workloads.isEmpty()) {
            return;
        }
        final CategoryChart chart = new CategoryChartBuilder()
                .width(Picture.WIDTH)
                .height(HEIGHT)
                .title(title)
                .build();
        double low = Double.MAX_VALUE;
        double high = 0;
        for (final SubjectType type : subjects) {
            final List<Double> values = new ArrayList<>();
            for (final String workload : workloads) {
                final double value = figures.median(row(type, workload, threads));
                values.add(Double.isNaN(value) ? null : value);
                if (!Double.isNaN(value)) {
                    low = Math.min(low, value);
                    high = Math.max(high, value);
                }
            }
            chart.addSeries(type.toString(), workloads, values).setFillColor(COLORS.get(type));
        }
        style(chart.getStyler(), decade(low, Math.floor(Math.log10(low))), decade(high, Math.ceil(Math.log10(high))));
        charts.add(chart);
    }

    private static double decade(double value, double exponent) {
        return value > 0 ? Math.pow(10, exponent) : 1;
    }

    /** Processor time where a thread is alone, the time that passed where threads wait for each other. */
    private static Row row(SubjectType type, String workload, int threads) {
        return new Row(type.toString(), workload, threads, threads == 1 ? Rivals.CPU_NS : Rivals.WALL_NS);
    }

    private static void style(CategoryStyler styler, double low, double high) {
        styler.setYAxisLogarithmic(true);
        styler.setYAxisMin(low);
        styler.setYAxisMax(high);
        styler.setYAxisDecimalPattern("#,##0");
        styler.setAvailableSpaceFill(0.88);
        Picture.style(styler);
    }
}
