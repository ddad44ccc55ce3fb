package allocator.site;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jsoup.nodes.Element;

/**
 * Where the links of documents lead in the site: to the page of a document, with its anchor, and for any other file to
 * the repository. A link to what the checkout does not have stays as it is, so that {@link LinkCheck} reports it.
 */
final class Links {
    private final Checkout checkout;
    private final Map<String, Page> pages;
    private final Set<String> pictures = new TreeSet<>();

    Links(Checkout checkout, Map<String, Page> pages) {
        this.checkout = checkout;
        this.pages = pages;
    }

    /** Rewrites the links and the pictures of a page. */
    void rewrite(Page page) {
        for (final Element link : page.body().select("a[href]")) {
            link.attr("href", target(page, link.attr("href")));
        }
        for (final Element picture : page.body().select("img[src]")) {
            picture.attr("src", picture(page, picture.attr("src")));
        }
    }

    /** The pictures of all rewritten pages, relative to the checkout and to the site. */
    Set<String> pictures() {
        return pictures;
    }

    private String target(Page page, String link) {
        if (isElsewhere(link)) {
            return link;
        }
        final int hash = link.indexOf('#');
        final String anchor = hash < 0 ? "" : link.substring(hash);
        final String path = hash < 0 ? link : link.substring(0, hash);
        if (path.isEmpty()) {
            return link;
        }
        final String file = resolve(page, path);
        final Page target = pages.getOrDefault(file, pages.get(file.isEmpty() ? "README.md" : file + "/README.md"));
        if (target != null) {
            return page.linkTo(target.file()) + anchor;
        }
        return isOutside(file) || !checkout.has(file) ? link : checkout.address(file) + anchor;
    }

    private String picture(Page page, String source) {
        if (isElsewhere(source)) {
            return source;
        }
        final String file = resolve(page, source);
        if (isOutside(file) || !checkout.has(file)) {
            return source;
        }
        pictures.add(file);
        return page.linkTo(file);
    }

    private static String resolve(Page page, String path) {
        return Path.of(page.document()).resolveSibling(path).normalize().toString();
    }

    private static boolean isOutside(String file) {
        return file.startsWith("..") || file.startsWith("/");
    }

    private static boolean isElsewhere(String link) {
        return URI.create(link).isAbsolute();
    }
}
