package allocator.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinksTest {
    private static final String REPOSITORY = "https://example.org/owner/name";

    @TempDir
    Path root;

    @BeforeEach
    void write() throws IOException {
        for (final String file : List.of(
                "README.md", "pom.xml", "docs/README.md", "docs/a.md", "docs/b/c.md", "docs/plot.svg", "src/A.java")) {
            Files.createDirectories(root.resolve(file).getParent());
            Files.writeString(root.resolve(file), "# " + file);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "docs/a.md, b/c.md#d, ../docs/b/c.html#d",
        "docs/b/c.md, ../../README.md, ../../index.html",
        "README.md, docs, docs/index.html",
        "README.md, docs/, docs/index.html",
        "docs/a.md, .., ../index.html",
        "docs/a.md, #x, #x",
        "docs/a.md, https://example.com/a.md#b, https://example.com/a.md#b",
        "docs/a.md, ../pom.xml, https://example.org/owner/name/blob/HEAD/pom.xml",
        "docs/a.md, ../src/A.java#L3, https://example.org/owner/name/blob/HEAD/src/A.java#L3",
        "docs/a.md, ../src, https://example.org/owner/name/tree/HEAD/src",
        "docs/a.md, nothing.md, nothing.md",
        "docs/a.md, ../../outside.md, ../../outside.md",
    })
    void aLinkLeadsToThePageOrToTheRepository(String document, String link, String expected) {
        assertThat(rewritten("1.0.0-SNAPSHOT", document, "[text](" + link + ")")
                        .body()
                        .select("a")
                        .attr("href"))
                .isEqualTo(expected);
    }

    @Test
    void thePagesOfAReleaseLeadToItsTag() {
        assertThat(rewritten("1.0.0", "README.md", "[text](pom.xml)")
                        .body()
                        .select("a")
                        .attr("href"))
                .isEqualTo(REPOSITORY + "/blob/v1.0.0/pom.xml");
    }

    @Test
    void picturesArePartOfTheSite() {
        final Checkout checkout = new Checkout(root, REPOSITORY, "1.0.0");
        final Page page = new Markdown().read("docs/b/c.md", "# C\n\n![plot](../plot.svg) ![none](none.svg)");
        final Links links = new Links(checkout, Map.of(page.document(), page));
        links.rewrite(page);
        assertThat(links.pictures()).containsExactly("docs/plot.svg");
        assertThat(page.body().select("img").eachAttr("src")).containsExactly("../../docs/plot.svg", "none.svg");
    }

    private Page rewritten(String version, String document, String text) {
        final Checkout checkout = new Checkout(root, REPOSITORY, version);
        final Map<String, Page> pages = new LinkedHashMap<>();
        for (final String name : List.of("README.md", "docs/README.md", "docs/a.md", "docs/b/c.md")) {
            pages.put(name, new Markdown().read(name, "# Title\n\n" + (name.equals(document) ? text : "")));
        }
        final Page page = pages.get(document);
        new Links(checkout, pages).rewrite(page);
        return page;
    }
}
