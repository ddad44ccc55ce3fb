package allocator.site;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Element;

/** Reads documents: CommonMark with GitHub's tables and GitHub's anchors of headings. */
final class Markdown {
    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());

    private final Parser parser = Parser.builder().extensions(EXTENSIONS).build();
    private final HtmlRenderer renderer =
            HtmlRenderer.builder().extensions(EXTENSIONS).build();

    Page read(Checkout checkout, String document) throws IOException {
        return read(document, Files.readString(checkout.root().resolve(document)));
    }

    /** Reads a text as the document of a name. */
    Page read(String document, String text) {
        final Element body =
                Jsoup.parseBodyFragment(renderer.render(parser.parse(text))).body();
        final Element heading = body.selectFirst("h1");
        if (heading == null) {
            throw new IllegalArgumentException(document + " has no heading of level 1, which is the page's title");
        }
        return new Page(document, heading.text(), body);
    }
}
