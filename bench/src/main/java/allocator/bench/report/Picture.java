package allocator.bench.report;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** Charts of one size, one above the other, in one style. */
public final class Picture {
    /** The width of every chart. */
    public static final int WIDTH = 1200;

    private static final String FONT = Font.SANS_SERIF;

    private Picture() {}

    /** Returns whether this Java runtime can draw; one that jlink made need not be able to. */
    public static boolean isPossible() {
        return ModuleLayer.boot().findModule("java.desktop").isPresent();
    }

    /** Writes charts, {@link #WIDTH} wide and each so high, to an SVG. */
    public static void write(List<? extends Chart<?, ?>> charts, int height, Path file) throws IOException {
        final VectorGraphics2D graphics = new VectorGraphics2D();
        for (final Chart<?, ?> chart : charts) {
            chart.paint(graphics, WIDTH, height);
            graphics.translate(0, height);
        }
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        new SVGProcessor()
                .getDocument(graphics.getCommands(), new PageSize(0, 0, WIDTH, height * charts.size()))
                .writeTo(out);
        // Texts are drawn as curves, with more digits than anybody can see.
        Files.writeString(file, out.toString(StandardCharsets.UTF_8).replaceAll("(\\.\\d\\d)\\d+", "$1"));
    }

    /** Sets what all charts have in common. */
    public static void style(AxesChartStyler styler) {
        styler.setPlotGridVerticalLinesVisible(false);
        styler.setPlotGridLinesColor(new Color(0xdddddd));
        styler.setPlotGridLinesStroke(new BasicStroke(1));
        styler.setPlotBorderVisible(false);
        styler.setPlotMargin(0);
        styler.setAxisTickLabelsFont(new Font(FONT, Font.PLAIN, 13));
        styler.setLegendPosition(LegendPosition.OutsideE);
        styler.setLegendLayout(LegendLayout.Vertical);
        styler.setLegendBorderColor(Color.WHITE);
        styler.setLegendFont(new Font(FONT, Font.PLAIN, 13));
        styler.setChartBackgroundColor(Color.WHITE);
        styler.setChartTitleFont(new Font(FONT, Font.BOLD, 15));
        styler.setChartTitleBoxVisible(false);
    }
}
