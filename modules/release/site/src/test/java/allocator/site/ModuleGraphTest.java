package allocator.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jsoup.nodes.Element;
import org.junit.jupiter.api.Test;

class ModuleGraphTest {
    @Test
    void aFlowChartBecomesAPictureWhoseModulesAreLinks() {
        final Markdown markdown = new Markdown();
        final Map<String, Page> pages = new LinkedHashMap<>();
        pages.put("docs/modules/java.allocator.arena.md", markdown.read("docs/modules/java.allocator.arena.md", "# A"));
        pages.put("docs/modules/jcuda.md", markdown.read("docs/modules/jcuda.md", "# J"));
        final Page page = markdown.read("README.md", """
                # Modules

                ```mermaid
                flowchart BT
                    arena --> provider.support
                    jcuda
                ```
                """);
        new ModuleGraph(pages).draw(page);
        final Element picture = page.body().selectFirst("figure > svg");
        assertThat(page.body().select("pre")).isEmpty();
        assertThat(picture.select("text").eachText()).containsExactly("arena", "provider.support", "jcuda");
        assertThat(picture.select("path.edge").attr("d")).matches("M[0-9. ]+[LQC][0-9. ]+");
        assertThat(picture.select("a").eachAttr("href"))
                .containsExactly("docs/modules/java.allocator.arena.html", "docs/modules/jcuda.html");
        assertThat(top(picture, "provider.support")).isLessThan(top(picture, "arena"));
    }

    private static double top(Element picture, String name) {
        return Double.parseDouble(
                picture.select("text:containsOwn(" + name + ")").attr("y"));
    }
}
