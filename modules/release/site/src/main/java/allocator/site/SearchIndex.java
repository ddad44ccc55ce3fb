package allocator.site;

import java.util.ArrayList;
import java.util.List;
import org.jsoup.nodes.Element;

/** The texts of all pages, by heading, for the search of {@code site.js}: a script, since a file has no requests. */
final class SearchIndex {
    private final List<String> sections = new ArrayList<>();

    void add(Page page) {
        String heading = "";
        String anchor = "";
        final StringBuilder text = new StringBuilder();
        for (final Element element : page.body().children()) {
            if (element.is("h1")) {
                continue;
            }
            if (element.is("h2, h3, h4")) {
                add(page, heading, anchor, text);
                heading = element.text();
                anchor = "#" + element.id();
            } else if (!element.is("figure")) {
                text.append(element.wholeText()).append(' ');
            }
        }
        add(page, heading, anchor, text);
    }

    private void add(Page page, String heading, String anchor, StringBuilder text) {
        sections.add("[" + quoted(page.file() + anchor) + "," + quoted(page.title()) + "," + quoted(heading) + ","
                + quoted(text.toString()) + "]");
        text.setLength(0);
    }

    private static String quoted(String text) {
        return '"' + text.replaceAll("\\s+", " ").strip().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** A script that sets {@code sections}: address, title, heading and text of each. */
    String script() {
        return "window.sections = [\n" + String.join(",\n", sections) + "\n];\n";
    }
}
