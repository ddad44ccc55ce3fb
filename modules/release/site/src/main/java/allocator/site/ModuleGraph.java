package allocator.site;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.eclipse.elk.alg.layered.options.LayeredMetaDataProvider;
import org.eclipse.elk.alg.layered.options.LayeredOptions;
import org.eclipse.elk.core.RecursiveGraphLayoutEngine;
import org.eclipse.elk.core.data.LayoutMetaDataService;
import org.eclipse.elk.core.math.ElkPadding;
import org.eclipse.elk.core.options.CoreOptions;
import org.eclipse.elk.core.options.Direction;
import org.eclipse.elk.core.options.EdgeRouting;
import org.eclipse.elk.core.util.BasicProgressMonitor;
import org.eclipse.elk.graph.ElkBendPoint;
import org.eclipse.elk.graph.ElkEdge;
import org.eclipse.elk.graph.ElkEdgeSection;
import org.eclipse.elk.graph.ElkNode;
import org.eclipse.elk.graph.util.ElkGraphUtil;
import org.jsoup.nodes.Element;

/**
 * Draws the flow charts of modules that GitHub draws from Mermaid's text: lines {@code a --> b}, or {@code a} alone.
 * The colours are those of the page, and each module leads to its page.
 */
final class ModuleGraph {
    private static final String ARROW = " --> ";
    private static final double CHARACTER = 7.0;
    private static final double MARGIN = 14;
    private static final double HEIGHT = 28;

    private final Map<String, Page> pages;

    ModuleGraph(Map<String, Page> pages) {
        this.pages = pages;
        LayoutMetaDataService.getInstance().registerLayoutMetaDataProviders(new LayeredMetaDataProvider());
    }

    /** Replaces the flow charts of a page by pictures. */
    void draw(Page page) {
        for (final Element code : page.body().select("pre > code.language-mermaid")) {
            final Element figure = new Element("figure").addClass("graph").attr("tabindex", "0");
            figure.append(svg(page, layout(code.wholeText().lines().skip(1).toList())));
            Objects.requireNonNull(code.parent()).replaceWith(figure);
        }
    }

    private static ElkNode layout(List<String> lines) {
        final ElkNode graph = ElkGraphUtil.createGraph();
        graph.setProperty(CoreOptions.ALGORITHM, LayeredOptions.ALGORITHM_ID);
        graph.setProperty(CoreOptions.DIRECTION, Direction.UP);
        graph.setProperty(CoreOptions.EDGE_ROUTING, EdgeRouting.SPLINES);
        graph.setProperty(CoreOptions.PADDING, new ElkPadding(4));
        graph.setProperty(CoreOptions.SPACING_NODE_NODE, 10.0);
        graph.setProperty(LayeredOptions.SPACING_NODE_NODE_BETWEEN_LAYERS, 36.0);
        final Map<String, ElkNode> nodes = new LinkedHashMap<>();
        for (final String line : lines) {
            final String[] ends = line.strip().split(ARROW, -1);
            for (final String name : ends) {
                nodes.computeIfAbsent(name, key -> node(graph, key));
            }
            if (ends.length == 2) {
                ElkGraphUtil.createSimpleEdge(nodes.get(ends[0]), nodes.get(ends[1]));
            }
        }
        new RecursiveGraphLayoutEngine().layout(graph, new BasicProgressMonitor());
        return graph;
    }

    private static ElkNode node(ElkNode graph, String name) {
        final ElkNode node = ElkGraphUtil.createNode(graph);
        node.setIdentifier(name);
        node.setDimensions(name.length() * CHARACTER + MARGIN, HEIGHT);
        return node;
    }

    private String svg(Page page, ElkNode graph) {
        final StringBuilder svg = new StringBuilder();
        svg.append(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"Modules and what they require\""
                        + " width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %1$.0f %2$.0f\"><defs><marker id=\"arrow\""
                        + " viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\""
                        + " orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>",
                graph.getWidth(),
                graph.getHeight()));
        for (final ElkEdge edge : graph.getContainedEdges()) {
            edge.getSections()
                    .forEach(section -> svg.append("<path class=\"edge\" d=\"")
                            .append(line(section))
                            .append("\" marker-end=\"url(#arrow)\"/>"));
        }
        graph.getChildren().forEach(node -> svg.append(box(page, node)));
        return svg.append("</svg>").toString();
    }

    /** The bend points of a spline are the control points of Bezier curves. */
    private static String line(ElkEdgeSection section) {
        final StringBuilder line =
                new StringBuilder(String.format(Locale.ROOT, "M%.1f %.1f", section.getStartX(), section.getStartY()));
        final List<ElkBendPoint> bends = section.getBendPoints();
        line.append(bends.isEmpty() ? "L" : bends.size() == 1 ? "Q" : "C");
        bends.forEach(bend -> line.append(String.format(Locale.ROOT, "%.1f %.1f ", bend.getX(), bend.getY())));
        return line.append(String.format(Locale.ROOT, "%.1f %.1f", section.getEndX(), section.getEndY()))
                .toString();
    }

    private String box(Page page, ElkNode node) {
        final String name = node.getIdentifier();
        final String box = String.format(
                Locale.ROOT,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>"
                        + "<text x=\"%.1f\" y=\"%.1f\">%s</text>",
                node.getX(),
                node.getY(),
                node.getWidth(),
                node.getHeight(),
                node.getX() + node.getWidth() / 2,
                node.getY() + node.getHeight() / 2 + 4,
                name);
        final Page target = pages.getOrDefault(
                "docs/modules/java.allocator." + name + ".md", pages.get("docs/modules/" + name + ".md"));
        return target == null ? box : "<a href=\"" + page.linkTo(target.file()) + "\">" + box + "</a>";
    }
}
