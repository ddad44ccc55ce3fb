package allocator.bench.held;

import allocator.bench.gpu.Measurements;
import allocator.bench.report.Picture;
import java.awt.Color;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.XYSeries.XYSeriesRenderStyle;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Charts of what is held. */
final class HeldCharts {
    static final int HEIGHT = 360;

    private static final double MIB = 1 << 20;
    private static final Color LIVE = new Color(0xd8d8d8);
    private static final List<Color> LINES = List.of(
            new Color(0x0b4f9e),
            new Color(0x3d86d6),
            new Color(0x6a3fa0),
            new Color(0xd9572b),
            new Color(0x2f8f4e),
            new Color(0xd9b310));

    /** The subjects of a GPU run, by the names of its results, with what the chart calls them and their colours. */
    private static final List<Bar> BARS = List.of(
            new Bar("cuda-arena", "best-fit, as ONNX Runtime", new Color(0x0b4f9e)),
            new Bar("cuda-arena slabs", "slabs", new Color(0x3d86d6)),
            new Bar("cuda-arena compact", "compact", new Color(0x6a3fa0)),
            new Bar("PyTorch", "PyTorch", new Color(0xd9572b)),
            new Bar("PyTorch expandable", "PyTorch expandable", new Color(0xf0b49a)),
            new Bar("cudaMallocAsync", "cudaMallocAsync", new Color(0x808080)));

    private record Bar(String subject, String name, Color color) {}

    private HeldCharts() {}

    /** Draws what lived as an area, and what each allocator held as a line, over the events of a trace. */
    static XYChart overEvents(String trace, List<TraceCourse> courses) {
        final XYChart chart = new XYChartBuilder()
                .width(Picture.WIDTH)
                .height(HEIGHT)
                .title(trace + ": MiB held and live, over the events of the trace")
                .build();
        final TraceCourse first = courses.getFirst();
        final XYSeries live = chart.addSeries("live", first.events(), mebibytes(first.liveBytes()));
        live.setXYSeriesRenderStyle(XYSeriesRenderStyle.Area);
        live.setFillColor(LIVE);
        live.setLineColor(LIVE);
        live.setMarker(SeriesMarkers.NONE);
        for (int i = 0; i < courses.size(); i++) {
            final TraceCourse course = courses.get(i);
            final XYSeries line =
                    chart.addSeries(course.subject().toString(), course.events(), mebibytes(course.heldBytes()));
            line.setXYSeriesRenderStyle(XYSeriesRenderStyle.Step);
            line.setLineColor(LINES.get(i % LINES.size()));
            line.setMarker(SeriesMarkers.NONE);
        }
        Picture.style(chart.getStyler());
        chart.getStyler().setYAxisMin(0.0);
        chart.getStyler().setXAxisMin(0.0);
        chart.getStyler().setXAxisDecimalPattern("#,##0");
        chart.getStyler().setYAxisDecimalPattern("#,##0");
        return chart;
    }

    private static double[] mebibytes(double[] bytes) {
        return Arrays.stream(bytes).map(value -> value / MIB).toArray();
    }

    /** Draws what each allocator held at the peak, over what was requested, for each trace. */
    static CategoryChart ofGpu(Measurements measurements) {
        final CategoryChart chart = new CategoryChartBuilder()
                .width(Picture.WIDTH)
                .height(HEIGHT)
                .title("Memory held at the peak, over the memory requested")
                .build();
        final List<String> traces = List.copyOf(measurements.traces());
        BARS.forEach(bar -> {
            final List<Double> values = new ArrayList<>();
            for (final String trace : traces) {
                final double held = measurements.heldOverRequested(bar.subject(), trace, 1);
                values.add(Double.isNaN(held) ? null : held);
            }
            if (values.stream().anyMatch(value -> value != null)) {
                chart.addSeries(bar.name(), traces, values).setFillColor(bar.color());
            }
        });
        Picture.style(chart.getStyler());
        chart.getStyler().setAvailableSpaceFill(0.85);
        chart.getStyler().setYAxisMin(0.0);
        chart.getStyler().setYAxisDecimalPattern("0.0");
        return chart;
    }
}
