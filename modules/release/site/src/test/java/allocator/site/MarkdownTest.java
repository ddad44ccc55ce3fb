package allocator.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class MarkdownTest {
    @Test
    void headingsHaveTheAnchorsOfGitHub() {
        final Page page = new Markdown().read("a.md", """
                # The `arena`, and more
                ## Where to look
                ## `arena.max_mem` & co.
                ## Where to look
                """);
        assertThat(page.title()).isEqualTo("The arena, and more");
        assertThat(page.body().select("h2").eachAttr("id"))
                .containsExactly("where-to-look", "arenamax_mem--co", "where-to-look-1");
    }

    @Test
    void tablesAlignTheirColumns() {
        final Page page = new Markdown().read("a.md", "# A\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n");
        assertThat(page.body().select("td[align=right]").text()).isEqualTo("2");
    }

    @Test
    void aDocumentWithoutATitleIsRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Markdown().read("docs/a.md", "## A"))
                .withMessage("docs/a.md has no heading of level 1, which is the page's title");
    }
}
