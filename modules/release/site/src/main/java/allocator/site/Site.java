package allocator.site;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Makes the site. Arguments: the folder of the checkout, the folder of the site, the repository's address, the version,
 * and a folder with {@code modules.path} and {@code others.path}, the libraries of the Javadoc.
 */
final class Site {
    /** The folder of the Javadoc in the site. */
    static final String API = "api";

    private static final List<String> FILES = List.of("icon.svg", "site.css", "site.js");

    private final Checkout checkout;
    private final Path folder;

    private Site(Checkout checkout, Path folder) {
        this.checkout = checkout;
        this.folder = folder;
    }

    public static void main(String[] arguments) throws IOException {
        final Checkout checkout =
                new Checkout(Path.of(arguments[0]).toAbsolutePath().normalize(), arguments[2], arguments[3]);
        final Path folder = Path.of(arguments[1]).toAbsolutePath().normalize();
        final Path work = Path.of(arguments[4]);
        Files.createDirectories(folder);
        new Site(checkout, folder).writePages();
        new Api(checkout, work).write(folder.resolve(API));
        final List<String> broken = new LinkCheck(folder).broken();
        if (!broken.isEmpty()) {
            broken.forEach(System.err::println);
            System.err.println(broken.size() + " broken links; the site is incomplete");
            System.exit(1);
        }
    }

    private void writePages() throws IOException {
        final Markdown markdown = new Markdown();
        final Map<String, Page> pages = new LinkedHashMap<>();
        for (final String document : checkout.documents()) {
            pages.put(document, markdown.read(checkout, document));
        }
        final ModuleGraph graph = new ModuleGraph(pages);
        final Links links = new Links(checkout, pages);
        for (final Page page : pages.values()) {
            links.rewrite(page);
            graph.draw(page);
        }
        final Layout layout = new Layout(checkout, new Navigation(pages));
        final SearchIndex index = new SearchIndex();
        for (final Page page : pages.values()) {
            index.add(page);
            write(page.file(), layout.of(page));
        }
        write("search-index.js", index.script());
        for (final String file : FILES) {
            write(file, resource(file));
        }
        for (final String picture : links.pictures()) {
            final Path copy = folder.resolve(picture);
            Files.createDirectories(Objects.requireNonNull(copy.getParent()));
            Files.copy(checkout.root().resolve(picture), copy);
        }
    }

    private void write(String file, String text) throws IOException {
        final Path path = folder.resolve(file);
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        Files.writeString(path, text);
    }

    /** The text of a file beside this class. */
    static String resource(String name) throws IOException {
        try (InputStream stream = Objects.requireNonNull(Site.class.getResourceAsStream(name), name)) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** The file, relative to the site's folder, to which a relative link of another file leads. */
    static String resolve(String file, String link) {
        return Path.of(file).resolveSibling(link).normalize().toString();
    }
}
