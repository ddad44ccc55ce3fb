package allocator.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinkCheckTest {
    @TempDir
    Path site;

    @BeforeEach
    void write() throws IOException {
        Files.createDirectories(site.resolve("docs"));
        Files.writeString(site.resolve("site.css"), "");
        Files.writeString(site.resolve("docs/options.html"), "<h2 id='arenas'>A</h2><h2 id='&lt;init&gt;(int)'>B</h2>");
    }

    @Test
    void linksToFilesAnchorsAndOtherHostsAreRight() throws IOException {
        page("""
                <link href="site.css">
                <a href="docs/options.html">1</a><a href="docs/options.html#arenas">2</a>
                <a href="docs/options.html#%3Cinit%3E(int)">3</a><a href="#here">4</a><a id="here">5</a><a href="#">6</a>
                <a href="https://example.org/nothing#at-all">7</a><a href="mailto:a@example.org">8</a>
                """);
        assertThat(new LinkCheck(site).broken()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "<a href='docs/option.html'>a</a>|docs/option.html leads to no file",
                "<a href='docs/options.md'>a</a>|docs/options.md leads to no file",
                "<a href='../index.html'>a</a>|../index.html leads to no file",
                "<a href='docs/options.html#x'>a</a>|docs/options.html#x leads to no anchor of docs/options.html",
                "<a href='#there'>a</a>|#there leads to no anchor of index.html",
                "<a href='docs/'>a</a>|docs/ leads to a folder, which a browser does not show from a disk",
                "<a href='a b'>a</a>|a b is no address",
                "<img src='plot.svg'>|plot.svg leads to no file",
                "<img src='https://example.org/a.svg'>|https://example.org/a.svg is loaded from another host",
                "<script src='//example.org/a.js'></script>|//example.org/a.js is loaded from another host",
                "<link href='http://example.org/a.css'>|http://example.org/a.css is loaded from another host",
            })
    void aBrokenLinkIsReportedWithItsPage(String link, String fault) throws IOException {
        page(link);
        assertThat(new LinkCheck(site).broken()).containsExactly("index.html: " + fault);
    }

    private void page(String html) throws IOException {
        Files.writeString(site.resolve("index.html"), html);
    }
}
