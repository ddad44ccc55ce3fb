package allocator.site;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jsoup.nodes.Element;

/**
 * The list of pages beside each page. Its groups are the headings of {@code docs/README.md} above tables of pages, in
 * their order; the pages of a folder follow its index where one of them is shown.
 */
final class Navigation {
    private static final String INDEX = "index.html";
    private static final String OVERVIEW = "docs/README.md";

    private final Map<String, List<Entry>> groups = new LinkedHashMap<>();
    private final Map<String, List<Entry>> folders = new LinkedHashMap<>();

    /**
     * A line of the list.
     *
     * @param file the page, relative to the site's folder
     */
    private record Entry(String name, String file) {
        /** The folder whose index this is; empty for any other page. */
        String folder() {
            return file.endsWith("/" + INDEX) ? file.substring(0, file.length() - INDEX.length()) : "";
        }
    }

    /** Reads the groups; the links of all pages are rewritten already. */
    Navigation(Map<String, Page> pages) {
        final Page overview = pages.get(OVERVIEW);
        if (overview == null) {
            throw new IllegalArgumentException("no " + OVERVIEW + ", whose tables are the navigation");
        }
        String group = "";
        for (final Element element : overview.body().select("h2, table")) {
            if (element.is("h2")) {
                group = element.text();
            } else if ("page".equals(element.select("th").eachText().getFirst())) {
                groups.computeIfAbsent(group, name -> new ArrayList<>())
                        .addAll(entries(overview, element.select("td:first-child a")));
            }
        }
        groups.values().stream().flatMap(List::stream).forEach(entry -> {
            if (!entry.folder().isEmpty()) {
                folders.put(entry.folder(), inside(entry.folder(), pages));
            }
        });
    }

    private static List<Entry> entries(Page page, List<Element> links) {
        return links.stream()
                .filter(link -> !link.attr("href").contains(":"))
                .map(link -> new Entry(
                        link.text(), Site.resolve(page.file(), link.attr("href").split("#", 2)[0])))
                .toList();
    }

    /** The pages of a folder in the order of the tables of its index, and those that these do not name. */
    private static List<Entry> inside(String folder, Map<String, Page> pages) {
        final Page index = pages.values().stream()
                .filter(page -> page.file().equals(folder + INDEX))
                .findFirst()
                .orElseThrow();
        final List<String> order = entries(index, index.body().select("td:has(a):not(td:has(a) ~ td) a")).stream()
                .map(Entry::file)
                .toList();
        return pages.values().stream()
                .filter(page -> page.file().startsWith(folder) && !page.file().equals(folder + INDEX))
                .filter(page -> page.file().indexOf('/', folder.length()) < 0)
                .sorted(Comparator.comparingInt((Page page) ->
                                order.contains(page.file()) ? order.indexOf(page.file()) : Integer.MAX_VALUE)
                        .thenComparing(Page::file))
                .map(page -> new Entry(name(page, pages), page.file()))
                .toList();
    }

    /** The title, with the file where several pages have the title. */
    private static String name(Page page, Map<String, Page> pages) {
        final boolean isUnique = pages.values().stream()
                        .filter(other -> other.title().equals(page.title()))
                        .count()
                == 1;
        return isUnique ? page.title() : page.title() + " (" + page.file().replaceAll(".*/|\\.html", "") + ")";
    }

    /** The list as it stands beside a page. */
    Element beside(Page page) {
        final Element all = new Element("div");
        groups.forEach((name, entries) -> {
            all.appendElement("h2").text(name);
            final Element list = all.appendElement("ul");
            for (final Entry entry : entries) {
                final Element item = append(list, page, entry);
                final List<Entry> inside = folders.getOrDefault(entry.folder(), List.of());
                if (!inside.isEmpty() && isShown(entry, inside, page)) {
                    final Element nested = item.appendElement("ul");
                    inside.forEach(child -> append(nested, page, child));
                }
            }
        });
        return all;
    }

    private static boolean isShown(Entry index, List<Entry> inside, Page page) {
        return index.file().equals(page.file())
                || inside.stream().anyMatch(child -> child.file().equals(page.file()));
    }

    private static Element append(Element list, Page page, Entry entry) {
        final Element item = list.appendElement("li");
        final Element link =
                item.appendElement("a").attr("href", page.linkTo(entry.file())).text(entry.name());
        Layout.breakAfterDots(link);
        if (entry.file().equals(page.file())) {
            link.attr("aria-current", "page");
        }
        return item;
    }
}
