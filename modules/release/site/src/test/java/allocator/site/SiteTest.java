package allocator.site;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.browser.InChromium;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.SimpleFileServer;
import com.sun.net.httpserver.SimpleFileServer.OutputLevel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Element;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The site that the build has made, in the folder {@code site.folder}. */
class SiteTest {
    private static final Path SITE = Path.of(System.getProperty("site.folder")).toAbsolutePath();
    private static final Checkout CHECKOUT =
            new Checkout(Path.of("../../..").toAbsolutePath().normalize(), "https://example.org/owner/name", "1.0.0");

    @Test
    void noLinkIsBroken() throws IOException {
        assertThat(new LinkCheck(SITE).broken()).isEmpty();
    }

    /** By the links of the documents themselves, as readers of the repository have them. */
    @Test
    void eachDocumentIsReachedFromTheFrontPage() throws IOException {
        final Set<String> reached = new TreeSet<>();
        final Deque<String> next = new ArrayDeque<>(List.of("index.html"));
        while (!next.isEmpty()) {
            final String page = next.remove();
            if (!page.startsWith(Site.API) && reached.add(page)) {
                for (final Element link : Jsoup.parse(SITE.resolve(page)).select("article a[href]")) {
                    final URI address = URI.create(link.attr("href"));
                    if (!address.isAbsolute() && !address.getPath().isEmpty()) {
                        next.add(Site.resolve(page, address.getPath()));
                    }
                }
            }
        }
        assertThat(reached).containsAll(pages());
    }

    @Test
    void eachPublishedModuleHasItsApi() throws IOException {
        assertThat(PublishedModule.in(CHECKOUT))
                .hasSizeGreaterThan(20)
                .allSatisfy(module -> assertThat(SITE.resolve(Site.API + "/" + module.name() + "/module-summary.html"))
                        .exists());
        assertThat(SITE.resolve("api/java.allocator.spark/allocator/spark/TaskMemory.html"))
                .exists();
    }

    /** What is exported to named modules only is no API. */
    @Test
    void packagesForSingleModulesAreNotDocumented() throws IOException {
        assertThat(Files.readAllLines(SITE.resolve(Site.API + "/element-list")))
                .contains("allocator.onnxruntime")
                .doesNotContain("allocator.onnxruntime.block", "allocator.onnxruntime.support");
    }

    @Test
    void theNavigationGroupsPagesAndShowsTheCurrentOne() throws IOException {
        final Element pages =
                Jsoup.parse(SITE.resolve("docs/decisions/0014-two-locks.html")).selectFirst("nav.pages");
        assertThat(pages.select("h2").eachText()).contains("Begin", "Observe", "Inside");
        assertThat(pages.select("[aria-current]").attr("href")).isEqualTo("../../docs/decisions/0014-two-locks.html");
        assertThat(pages.select("a").eachText())
                .contains("First use", "The contract")
                .doesNotContain("jcuda");
    }

    /** Search engines show it below the title. */
    @Test
    void eachPageHasADescription() throws IOException {
        for (final String page : pages()) {
            assertThat(Jsoup.parse(SITE.resolve(page))
                            .select("meta[name=description]")
                            .attr("content"))
                    .as(page)
                    .hasSizeGreaterThan(15);
        }
    }

    private static Set<String> pages() throws IOException {
        return CHECKOUT.documents().stream().map(Checkout::page).collect(Collectors.toCollection(TreeSet::new));
    }

    @Nested
    class InABrowser extends InChromium {
        @Test
        void eachPageFitsTheWindow() throws Exception {
            for (final String page : pages()) {
                chromium.load(SITE.resolve(page).toUri());
                for (final int width : List.of(1280, 360)) {
                    chromium.show(width, 900, false);
                    fits(page, width);
                }
            }
            hasNoErrorsAndNoOtherHost();
        }

        private void fits(String page, int width) {
            assertThat(chromium.evaluate("document.documentElement.scrollWidth"))
                    .as("%s at %d", page, width)
                    .isEqualTo(Integer.toString(width));
        }

        @ParameterizedTest
        @CsvSource({"1280,false", "1280,true", "360,false", "360,true"})
        void itIsDrawn(int width, boolean isDark) throws Exception {
            chromium.show(width, 900, isDark);
            for (final String page : List.of(
                    "index.html",
                    "docs/contract.html",
                    "docs/options.html",
                    "docs/speed.html",
                    "docs/decisions/0014-two-locks.html",
                    "bench/results/arena-host.html",
                    "api/index.html",
                    "api/java.allocator.arena/allocator/arena/ArenaAllocator.html")) {
                chromium.load(SITE.resolve(page).toUri());
                fits(page, width);
                chromium.screenshot(PICTURES.resolve(
                        page.replace('/', '-').replace(".html", "") + "-" + width + (isDark ? "-dark" : "") + ".png"));
            }
            hasNoErrorsAndNoOtherHost();
        }

        /** Text is read against its background in both colour schemes. */
        @Test
        void coloursFollowTheScheme() throws Exception {
            for (final String page : List.of("index.html", "api/index.html")) {
                chromium.show(1280, 900, false);
                chromium.load(SITE.resolve(page).toUri());
                final String light = colours();
                chromium.show(1280, 900, true);
                assertThat(colours()).as(page).isNotEqualTo(light);
            }
        }

        private String colours() {
            return chromium.evaluate(
                    "(s => s.color + ' on ' + getComputedStyle(document.documentElement).backgroundColor"
                            + " + s.backgroundColor)(getComputedStyle(document.body))");
        }

        @ParameterizedTest
        @ValueSource(ints = {1280, 360})
        void theSearchFindsAnOptionByItsKey(int width) throws Exception {
            chromium.show(width, 900, false);
            chromium.load(SITE.resolve("docs/decisions/0014-two-locks.html").toUri());
            chromium.type("#search", "arena.keep_first_region");
            chromium.await("document.querySelectorAll('#found a').length > 1");
            assertThat(chromium.evaluate("[...document.querySelectorAll('#found a')].map(a => a.href).join(' ')"))
                    .contains("/docs/options.html#arenas", "/api/search.html?q=arena.keep_first_region");
            assertThat(chromium.evaluate("(r => r.left >= 0 && r.right <= innerWidth)"
                            + "(document.querySelector('#found').getBoundingClientRect())"))
                    .isEqualTo("true");
            hasNoErrorsAndNoOtherHost();
        }

        @Test
        void theArrowUpBeginsAtTheLastResultAndAnEmptySearchHasNone() throws Exception {
            chromium.load(SITE.resolve("index.html").toUri());
            chromium.type("#search", "arena");
            chromium.await("document.querySelectorAll('#found a').length > 2");
            chromium.evaluate("document.querySelector('#search')"
                    + ".dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp'}))");
            assertThat(chromium.evaluate("document.querySelector('#found a:last-child').getAttribute('aria-selected')"))
                    .isEqualTo("true");
            chromium.evaluate("(i => { i.value = ''; return i.dispatchEvent(new Event('input')); })"
                    + "(document.querySelector('#search'))");
            assertThat(chromium.evaluate("document.querySelectorAll('#found a').length"))
                    .isEqualTo("0");
        }

        @Test
        void theModulesOfTheGraphLeadToTheirPages() throws Exception {
            chromium.load(SITE.resolve("docs/modules/index.html").toUri());
            assertThat(chromium.evaluate("[...document.querySelectorAll('.graph a')]"
                            + ".filter(a => a.getBoundingClientRect().width > 0).length"))
                    .isEqualTo(chromium.evaluate("document.querySelectorAll('.graph rect').length"))
                    .isNotEqualTo("0");
        }

        @Test
        void aNarrowWindowHasTheNavigationInAMenu() throws Exception {
            chromium.show(360, 800, false);
            chromium.load(SITE.resolve("docs/contract.html").toUri());
            final String isShown = "String(document.querySelector('.pages').checkVisibility())";
            assertThat(chromium.evaluate(isShown)).isEqualTo("false");
            chromium.evaluate("document.querySelector('.menu').click()");
            assertThat(chromium.evaluate(isShown)).isEqualTo("true");
        }

        @ParameterizedTest
        @ValueSource(strings = {"ArenaAllocator", "TaskMemory", "allocOnStream"})
        void theSearchOfTheJavadocFindsApi(String name) throws Exception {
            searchApi(SITE.resolve("api/index.html").toUri(), name);
            hasNoErrorsAndNoOtherHost();
        }

        @Test
        void aWebServerServesTheSameSite() throws Exception {
            final HttpServer server = SimpleFileServer.createFileServer(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), SITE, OutputLevel.NONE);
            server.start();
            try {
                final URI root =
                        URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
                chromium.load(root);
                assertThat(text("h1")).isEqualTo("java.allocator");
                searchApi(root.resolve("api/"), "ArenaAllocator");
                hasNoErrorsAndNoOtherHost();
            } finally {
                server.stop(0);
            }
        }

        private void searchApi(URI address, String name) throws Exception {
            chromium.load(address);
            chromium.await("!document.querySelector('#search-input').disabled");
            chromium.type("#search-input", name);
            chromium.await("[...document.querySelectorAll('.ui-autocomplete a, .ui-autocomplete li')]"
                    + ".some(e => e.textContent.includes('" + name + "'))");
        }

        private void hasNoErrorsAndNoOtherHost() {
            assertThat(chromium.errors()).isEmpty();
            assertThat(chromium.requests())
                    .isNotEmpty()
                    .filteredOn(request -> !request.startsWith("http://127.0.0.1:"))
                    .noneMatch(request -> request.matches("(?s)(https?|wss?):.*"));
        }
    }
}
