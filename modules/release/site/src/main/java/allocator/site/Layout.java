package allocator.site;

import java.io.IOException;
import java.util.List;
import org.jsoup.nodes.Element;
import org.jsoup.select.Elements;

/** What is around the content of each page: title, header, navigation, the list of its headings. */
final class Layout {
    private static final String NAME = "java.allocator";
    private static final String FRONT_PAGE = "index.html";

    /** A table with this many columns scrolls on a narrow screen before its columns become narrow. */
    private static final int MANY_COLUMNS = 3;

    /** A first cell with this many characters stays on one line. */
    private static final int SHORT = 18;

    /** A page with fewer headings has no list of them. */
    private static final int FEW_HEADINGS = 2;

    private final Checkout checkout;
    private final Navigation navigation;
    private final List<PublishedModule> modules;
    private final String template;

    Layout(Checkout checkout, Navigation navigation) throws IOException {
        this.checkout = checkout;
        this.navigation = navigation;
        modules = PublishedModule.in(checkout);
        template = Site.resource("page.html");
    }

    /** The whole page as HTML. */
    String of(Page page) {
        final boolean isFront = page.file().equals(FRONT_PAGE);
        final String description = description(page.body());
        final Element headings = headings(page.body());
        tablesInBoxes(page.body());
        anchorsBesideHeadings(page.body());
        modules.stream()
                .filter(module -> page.document().equals("docs/modules/" + module.name() + ".md"))
                .forEach(module -> linkToApi(page, module));
        return template.replace("{title}", escaped(isFront ? NAME : page.title() + " - " + NAME))
                .replace("{description}", escaped(description))
                .replace("{kind}", isFront ? "front" : "inner")
                .replace("{root}", page.toRoot())
                .replace("{version}", escaped(checkout.version()))
                .replace("{repository}", escaped(checkout.repository()))
                .replace("{source}", escaped(checkout.address(page.document())))
                .replace("{navigation}", navigation.beside(page).html())
                .replace("{headings}", headings.html())
                .replace("{content}", page.body().html());
    }

    private static void linkToApi(Page page, PublishedModule module) {
        final Element line = new Element("p").addClass("api");
        line.appendElement("a")
                .attr("href", page.linkTo(Site.API + "/" + module.name() + "/module-summary.html"))
                .text("Javadoc of this module");
        page.body().select("h1").after(line.outerHtml());
    }

    private static Element headings(Element body) {
        final Element box = new Element("div");
        final Elements headings = body.select("h2[id]");
        if (headings.size() < FEW_HEADINGS) {
            return box;
        }
        box.appendElement("h2").text("On this page");
        final Element list = box.appendElement("ul");
        for (final Element heading : headings) {
            list.appendElement("li")
                    .appendElement("a")
                    .attr("href", "#" + heading.id())
                    .text(heading.text());
        }
        return box;
    }

    /** A wide table scrolls in a box of its own; the box is reached by the keyboard. */
    private static void tablesInBoxes(Element body) {
        for (final Element table : body.select("table")) {
            final Element box = new Element("div").addClass("table").attr("tabindex", "0");
            if (table.select("th").size() >= MANY_COLUMNS) {
                box.addClass("wide");
            }
            table.replaceWith(box);
            box.appendChild(table);
            table.select("td:first-child").stream()
                    .filter(cell -> cell.text().length() <= SHORT)
                    .forEach(cell -> cell.addClass("short"));
            table.select("td code").forEach(Layout::breakAfterDots);
            if (table.select("th").eachText().stream().allMatch(String::isEmpty)) {
                table.select("thead").remove();
            }
        }
    }

    /** Keys and names break where their words end. */
    static void breakAfterDots(Element code) {
        final String html = code.html();
        if (!html.contains("&") && !html.contains("<")) {
            code.html(html.replaceAll("([.,=/])(?=\\w)", "$1<wbr>"));
        }
    }

    private static void anchorsBesideHeadings(Element body) {
        for (final Element heading : body.select("h2[id], h3[id], h4[id]")) {
            heading.appendElement("a")
                    .addClass("anchor")
                    .attr("href", "#" + heading.id())
                    .attr("aria-label", "Link to " + heading.text())
                    .text("#");
        }
    }

    /** The first sentence; of a decision that of its context, as its status describes no page. */
    static String description(Element body) {
        final String text = body.select("p").stream()
                .map(Element::text)
                .filter(paragraph -> !paragraph.startsWith("Status."))
                .findFirst()
                .orElse("")
                .replaceFirst("^Context\\. ", "");
        final int end = text.indexOf(". ");
        return end < 0 ? text : text.substring(0, end + 1);
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
