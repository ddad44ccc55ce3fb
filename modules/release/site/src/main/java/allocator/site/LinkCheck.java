package allocator.site;

import java.io.IOException;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * Finds the links of a site that lead to no file or to no anchor, and what a browser would load from elsewhere. Links
 * to other hosts are not followed.
 */
final class LinkCheck {
    private static final String LINKS = "a[href], area[href], link[href], img[src], script[src], iframe[src]";

    private final Path site;
    private final Map<String, Set<String>> anchors = new HashMap<>();
    private final List<String> broken = new ArrayList<>();

    /** A link of a page. */
    private record Link(String page, String address, boolean isLoaded) {}

    LinkCheck(Path site) {
        this.site = site;
    }

    /** One line for each broken link: the page, the link, and what is wrong. */
    List<String> broken() throws IOException {
        final List<Link> links = new ArrayList<>();
        for (final String page : pages()) {
            final Document document = Jsoup.parse(site.resolve(page));
            anchors.put(page, anchors(document));
            for (final Element element : document.select(LINKS)) {
                links.add(new Link(
                        page,
                        element.hasAttr("href") ? element.attr("href") : element.attr("src"),
                        !element.is("a, area")));
            }
        }
        links.forEach(this::check);
        return broken.stream().distinct().toList();
    }

    private List<String> pages() throws IOException {
        try (Stream<Path> files = Files.walk(site)) {
            return files.map(file -> site.relativize(file).toString())
                    .filter(file -> file.endsWith(".html"))
                    .sorted()
                    .toList();
        }
    }

    private static Set<String> anchors(Document document) {
        final Set<String> anchors = new HashSet<>(document.select("[id]").eachAttr("id"));
        anchors.addAll(document.select("a[name]").eachAttr("name"));
        return anchors;
    }

    private void check(Link link) {
        final URI address;
        try {
            address = URI.create(link.address());
        } catch (IllegalArgumentException e) {
            report(link, "is no address");
            return;
        }
        if (address.isAbsolute() || address.getRawAuthority() != null) {
            if (link.isLoaded()) {
                report(link, "is loaded from another host");
            }
            return;
        }
        final String path = decoded(address.getRawPath());
        final String file = path.isEmpty() ? link.page() : Site.resolve(link.page(), path);
        if (file.startsWith("..") || !Files.exists(site.resolve(file))) {
            report(link, "leads to no file");
        } else if (Files.isDirectory(site.resolve(file))) {
            report(link, "leads to a folder, which a browser does not show from a disk");
        } else if (address.getRawFragment() != null) {
            final String anchor = decoded(address.getRawFragment());
            if (!anchor.isEmpty()
                    && anchors.containsKey(file)
                    && !anchors.get(file).contains(anchor)) {
                report(link, "leads to no anchor of " + file);
            }
        }
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private void report(Link link, String fault) {
        broken.add(link.page() + ": " + link.address() + " " + fault);
    }
}
