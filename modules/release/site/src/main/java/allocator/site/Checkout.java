package allocator.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The files that a site is made from, and where the repository shows those that become no pages.
 *
 * @param root the folder of the checkout, absolute
 * @param repository the address of the repository, for instance {@code https://github.com/owner/name}
 * @param version the version in the root pom
 */
record Checkout(Path root, String repository, String version) {
    /** The folders of documents, and how deep they are. */
    private static final Map<String, Integer> FOLDERS =
            Map.of("", 1, "docs", 3, "bench", 1, "bench/results", 2, "traces", 1);

    private static final String README = "README.md";
    private static final String MARKDOWN = ".md";
    private static final String HTML = ".html";

    /** The files that become pages, relative to the root and sorted. */
    Set<String> documents() throws IOException {
        final Set<String> documents = new TreeSet<>();
        for (final Map.Entry<String, Integer> folder : FOLDERS.entrySet()) {
            try (Stream<Path> files = Files.walk(root.resolve(folder.getKey()), folder.getValue())) {
                files.map(file -> root.relativize(file).toString())
                        .filter(file -> file.endsWith(MARKDOWN))
                        .forEach(documents::add);
            }
        }
        return documents;
    }

    /** The page of a document, relative to the site's folder. */
    static String page(String document) {
        return document.endsWith(README)
                ? document.substring(0, document.length() - README.length()) + "index" + HTML
                : document.substring(0, document.length() - MARKDOWN.length()) + HTML;
    }

    /** Whether the checkout has such a file or folder. */
    boolean has(String file) {
        return Files.exists(root.resolve(file));
    }

    /** Where the repository shows a file or folder: of the released version, or the latest. */
    String address(String file) {
        final String kind = Files.isDirectory(root.resolve(file)) ? "tree" : "blob";
        return repository + "/" + kind + "/" + revision() + "/" + file;
    }

    private String revision() {
        return version.endsWith("-SNAPSHOT") ? "HEAD" : "v" + version;
    }
}
