package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.testkit.browser.InChromium;
import allocator.view.TraceProfile.Moment;
import allocator.view.TraceProfile.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The page as a file, and in a browser. */
class PageTest {
    private static final long MIB = 1 << 20;

    private static Snapshot failed() {
        final AllocatorSnapshot memory = new AllocatorSnapshot(
                List.of(
                        Snapshots.region(
                                0x7f00_0000_0000L,
                                7,
                                State.LIVE,
                                10 * MIB,
                                State.WAITING,
                                6 * MIB,
                                State.LIVE,
                                4 * MIB,
                                State.FREE,
                                12 * MIB),
                        Snapshots.region(0x7f10_0000_0000L, 8, State.LIVE, 20 * MIB, State.CACHED, 12 * MIB)),
                List.of());
        return Snapshots.of(
                Snapshots.failure(16 * MIB, 64 * MIB, 34 * MIB, 64 * MIB, 12 * MIB),
                memory,
                Map.of(
                        0x7f10_0000_0000L,
                        new Site(Snapshots.HOSTILE, "com.example.Cache.fill(Cache.java:17)", 61_000, 0)));
    }

    /** Profiles of 500,000 events, each with as many points and chunks as a profile may have. */
    private static List<TraceProfile> large() {
        final List<TraceProfile> profiles = new ArrayList<>();
        for (final String policy : List.of("best-fit", "slabs", Snapshots.HOSTILE)) {
            final List<Point> points = new ArrayList<>();
            for (int i = 0; i < 4000; i++) {
                final long requested = (long) ((1 + Math.sin(i / 300.0)) * 400 * MIB) + (i * 7919L) % (40 * MIB);
                final long held = requested * (profiles.size() + 5) / 4;
                points.add(new Point(
                        i * 125,
                        requested / 2,
                        requested,
                        requested + MIB,
                        held + MIB,
                        held - requested,
                        (held - requested) / (1 + i % 5)));
            }
            final List<Moment> moments = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                moments.add(new Moment(i * 41_000, Snapshots.large(5_000)));
            }
            profiles.add(new TraceProfile(policy, true, 500_000, points, moments, 840 * MIB, 841 * MIB, 1200 * MIB, 0));
        }
        return profiles;
    }

    @Test
    void aPageIsOneFileThatNamesNoOther() {
        assertThat(List.of(Page.of("s", failed()), Page.of("t", large())))
                .allSatisfy(page -> assertThat(page)
                        .doesNotContain("http:", "https:", "src=\"", "@import", "url(")
                        .contains("default-src 'none'")
                        .doesNotContain("{{", "unsafe-inline"));
    }

    @Test
    void hostileNamesEndNoElement() {
        assertThat(Page.of(Snapshots.HOSTILE, failed()))
                .doesNotContain("<img", "</script><script>console")
                .contains("\\u003cimg src=x");
    }

    @Test
    void aPageOfFiveHundredThousandEventsWeighsAtMostEightMebibytes() {
        assertThat(Page.of("large", large()).length()).isLessThan((int) (8 * MIB));
    }

    /** Above 100,000 chunks, neighbours that are small are shown as one. */
    @Test
    void aPageOfAMillionChunksWeighsAtMostEightMebibytes() {
        assertThat(Page.of("large", Snapshots.of(null, Snapshots.large(1_000_000), Map.of()))
                        .length())
                .isBetween((int) MIB, (int) (8 * MIB));
    }

    /** Each has a map and tables of its own. */
    @Test
    void aPageOfThreeThousandAllocatorsWeighsAtMostEightMebibytesAndShowsThoseWithMost() {
        final AllocatorSnapshot[] memories = new AllocatorSnapshot[3000];
        Arrays.setAll(memories, i -> Snapshots.large(i == 1500 ? 400 : 100));
        final String page = Page.of("many", Snapshots.ofAllocators("session ", memories));
        assertThat(page.length()).isLessThan((int) (8 * MIB));
        assertThat(page)
                .contains(
                        "3000 allocators, of which the 200 with most are shown",
                        "Cuda gpu:0 of cuda-arena, session 1500");
    }

    @Test
    void aPageNeedsAProfile() {
        assertThatIllegalArgumentException().isThrownBy(() -> Page.of("none", List.of()));
    }

    /** Chunks of different regions are never shown as one. */
    @Test
    void moreRegionsThanChunksThatAreShownMakeAPage() {
        final List<Region> regions = new ArrayList<>();
        for (int i = 0; i < 100_100; i++) {
            regions.add(Snapshots.region(0x7f00_0000_0000L + 4096L * i, 0, State.LIVE, 256));
        }
        final Snapshot snapshot = Snapshots.of(null, new AllocatorSnapshot(regions, List.of()), Map.of());
        final String page = assertTimeoutPreemptively(Duration.ofSeconds(60), () -> Page.of("many", snapshot));
        assertThat(page.length()).isLessThan((int) (12 * MIB));
    }

    @Test
    void callSitesOfManyBlocksDoNotMakeThePageLarge() {
        final AllocatorSnapshot memory = Snapshots.large(90_000);
        final Map<Long, Site> sites = new HashMap<>();
        memory.regions()
                .getFirst()
                .chunks()
                .forEach(chunk -> sites.put(
                        chunk.address(),
                        new Site("session", "com.example.Model.line" + chunk.address() + "(M.java:1)", 5, 0)));
        assertThat(Page.of("sites", Snapshots.of(null, memory, sites)).length()).isLessThan((int) (8 * MIB));
    }

    /** Half of a surrogate pair may be in any name, and no file in UTF-8 has one. */
    @Test
    void everyPageCanBeWritten(@TempDir Path folder) throws IOException {
        final String half = "a\ud83d";
        final Snapshot snapshot = Snapshots.ofAllocators(half, AllocatorSnapshot.EMPTY);
        final Path file = Files.writeString(folder.resolve("half.html"), Page.of(half, snapshot));
        assertThat(Files.readString(file)).contains("<title>a\\ud83d</title>", "Snapshot of a\\\\ud83d, taken");
        assertThat(SnapshotFile.read(Snapshots.write(snapshot, folder.resolve("half.json"))))
                .isEqualTo(snapshot);
        assertThat(TorchSnapshot.of(snapshot)).isNotEmpty();
    }

    @Nested
    class InABrowser extends InChromium {
        private Path failure;
        private Path trace;

        @BeforeAll
        void write(@TempDir Path folder) throws Exception {
            failure = Files.writeString(folder.resolve("failure.html"), Page.of(Snapshots.HOSTILE, failed()));
            trace = Files.writeString(folder.resolve("trace.html"), Page.of("large", large()));
        }

        @ParameterizedTest
        @CsvSource({"1280,false", "390,true"})
        void itFitsTheWindowAndDraws(int width, boolean isDark) throws Exception {
            requireFits(width, isDark);
        }

        @ParameterizedTest
        @Tag("thorough")
        @CsvSource({"1280,true", "390,false"})
        void itFitsTheWindowInTheOtherColoursToo(int width, boolean isDark) throws Exception {
            requireFits(width, isDark);
        }

        private void requireFits(int width, boolean isDark) throws Exception {
            chromium.show(width, 900, isDark);
            for (final Path page : List.of(failure, trace)) {
                chromium.open(page);
                assertThat(chromium.evaluate("document.documentElement.scrollWidth"))
                        .as("%s at %d", page, width)
                        .isEqualTo(Integer.toString(width));
                assertThat(colours("#regions")).isGreaterThan(3);
                chromium.screenshot(
                        PICTURES.resolve(page.getFileName().toString().replace(".html", "") + "-" + width
                                + (isDark ? "-dark" : "") + ".png"));
            }
            assertThat(colours("#timeline")).isGreaterThan(3);
            assertThat(chromium.evaluate("String(document.querySelector('#timeline').getContext('2d')"
                            + ".getImageData(0, 0, 2, 9999).data.every(v => v === 0))"))
                    .as("no label of the axis is cut at the edge")
                    .isEqualTo("true");
            assertThat(chromium.errors()).isEmpty();
        }

        /** The pictures of the documents, in target/pictures: a real failure, a recorded model, and a plan. */
        @Test
        void thePicturesOfTheDocuments(@TempDir Path directory) throws Exception {
            chromium.open(Files.writeString(
                    directory.resolve("failure.html"), Page.of("failure", RealPages.failure(directory))));
            chromium.screenshot(PICTURES.resolve("failure.png"));
            chromium.open(Files.writeString(directory.resolve("plan.html"), RealPages.plan("D.1048576")));
            chromium.screenshot(PICTURES.resolve("plan.png"));
            chromium.show(1280, 900, true);
            chromium.open(Files.writeString(directory.resolve("trace.html"), RealPages.trace("two_streams")));
            chromium.screenshot(PICTURES.resolve("trace-dark.png"));
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void aFailureIsExplained() throws Exception {
            chromium.open(failure);
            assertThat(text(".headline"))
                    .startsWith(Snapshots.HOSTILE + " asked for 16.0 MiB of Cuda (gpu:0)")
                    .endsWith("30.0 MiB are free, in pieces of at most 12.0 MiB");
            assertThat(text("#page")).contains("com.example.Model.load(Model.java:42)", "arena.policy=compact");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void aBlockThatIsHoveredTellsItsSizeStreamSessionAndSite() throws Exception {
            chromium.open(failure);
            chromium.hover("#regions", 0.2, 0.1);
            assertThat(text(".tip"))
                    .startsWith("Live10.0 MiB (10,485,760 bytes)requested 10.0 MiB (10,485,759 bytes)")
                    .contains("allocated on stream 7", "session " + Snapshots.HOSTILE, "region 0x7f0000000000");
            chromium.press("#regions", "ArrowRight");
            assertThat(text("#mapOut")).startsWith("Live; 10.0 MiB");
            chromium.press("#regions", "ArrowRight");
            assertThat(text("#mapOut"))
                    .startsWith("Waiting for a stream; 6.00 MiB")
                    .contains("freed on stream 7");
            for (int i = 0; i < 3; i++) {
                chromium.press("#regions", "ArrowRight");
            }
            assertThat(text("#mapOut")).contains("at com.example.Cache.fill(Cache.java:17)", "allocated 61.0 s before");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void namedBlocksAreColouredByWhatTheyAreFor(@TempDir Path directory) throws Exception {
            final AllocatorSnapshot memory = new AllocatorSnapshot(
                    List.of(Snapshots.region(
                            4096, 0, State.LIVE, 4 * MIB, State.LIVE, 2 * MIB, State.LIVE, MIB, State.FREE, MIB)),
                    List.of());
            final Map<Long, Site> sites = Map.of(
                    4096L,
                    new Site("bert", "weights (weight)", Site.UNKNOWN_AGE, 0),
                    4096L + 4 * MIB,
                    new Site("bert", "/m/layer.0/Add (Add, activation) at a.B.c(B.java:7)", 5, 0),
                    4096L + 6 * MIB,
                    new Site("bert", "/m/layer.0/Mul (Mul, activation)", Site.UNKNOWN_AGE, 0));
            final Path page = directory.resolve("named.html");
            chromium.open(Files.writeString(page, Page.of("named", Snapshots.of(null, memory, sites))));
            assertThat(chromium.evaluate("[...document.querySelector('#by').options].map(o => o.value).join()"))
                    .isEqualTo("state,kind,layer,operator,call site");
            assertThat(legend()).isEqualTo("weight 4.00 MiB, activation 3.00 MiB, free 1.00 MiB");
            chromium.press("#regions", "ArrowRight");
            assertThat(text("#mapOut")).contains("; session bert; weights (weight); at offset 0");
            chromium.press("#regions", "ArrowRight");
            assertThat(text("#mapOut"))
                    .contains(
                            "; /m/layer.0/Add (Add, activation); layer /m/layer.0; at a.B.c(B.java:7); allocated 5 ms");
            for (final Map.Entry<String, String> colour : Map.of(
                            "layer", "weights 4.00 MiB, /m/layer.0 3.00 MiB, free 1.00 MiB",
                            "operator",
                                    "weights 4.00 MiB, /m/layer.0/Add 2.00 MiB, /m/layer.0/Mul 1.00 MiB, free 1.00 MiB",
                            "call site", "not recorded 5.00 MiB, a.B.c(B.java:7) 2.00 MiB, free 1.00 MiB")
                    .entrySet()) {
                chromium.evaluate("(s => { s.value = '" + colour.getKey()
                        + "'; s.dispatchEvent(new Event('change')); })(document.querySelector('#by'))");
                assertThat(legend()).isEqualTo(colour.getValue());
                assertThat(colours("#regions")).isGreaterThan(3);
            }
            assertThat(chromium.evaluate("[...document.querySelectorAll('section[aria-labelledby=most] th')]"
                            + ".map(h => h.textContent).filter(t => t.startsWith('by')).join()"))
                    .isEqualTo("by session,by kind,by layer,by operator,by call site,by stream,by size");
            assertThat(chromium.errors()).isEmpty();
        }

        private String legend() {
            return chromium.evaluate("[...document.querySelectorAll('section[aria-labelledby=mapTitle] .legend li')]"
                    + ".map(l => l.textContent).join(', ')");
        }

        @Test
        void whoHasMostHasTheBytesRequestedAndThoseWithPadding() throws Exception {
            chromium.open(failure);
            assertThat(text("section[aria-labelledby=most] thead")).isEqualTo("by sessionblocksrequestedwith padding");
            assertThat(text("section[aria-labelledby=most] tbody")).contains("34.0 MiB");
        }

        @Test
        void theAllocatorThatHoldsMostIsShownFirst(@TempDir Path directory) throws Exception {
            chromium.open(Files.writeString(
                    directory.resolve("three.html"),
                    Page.of(
                            "three",
                            Snapshots.ofAllocators(
                                    "bert",
                                    AllocatorSnapshot.EMPTY,
                                    new AllocatorSnapshot(
                                            List.of(Snapshots.region(4096, 0, State.FREE, 9 * MIB)), List.of()),
                                    new AllocatorSnapshot(
                                            List.of(Snapshots.region(4096, 0, State.LIVE, 5 * MIB)), List.of())))));
            assertThat(chromium.evaluate("document.querySelector('#map').selectedOptions[0].textContent"))
                    .endsWith("bert2");
            assertThat(text("section[aria-labelledby=most]")).contains("bert2");
            chromium.evaluate("(s => { s.value = '0'; s.dispatchEvent(new Event('change')); })"
                    + "(document.querySelector('#map'))");
            assertThat(text("#mapNote")).isEqualTo("This allocator holds no memory.");
            assertThat(text("section[aria-labelledby=most]")).contains("No block is live.");
            assertThat(chromium.evaluate("String(document.querySelector('#scroll').offsetHeight)"))
                    .isEqualTo("0");
            assertThat(chromium.errors()).isEmpty();
        }

        /** A name cannot turn the text around it, wherever it is shown. */
        @Test
        void charactersThatTurnTextAreShownAsEscapes(@TempDir Path directory) throws Exception {
            final String name = "a\u202e\u2067\u200b\u0007b";
            final AllocatorSnapshot memory =
                    new AllocatorSnapshot(List.of(Snapshots.region(4096, 0, State.LIVE, 5 * MIB)), List.of());
            final Path page = Files.writeString(
                    directory.resolve("turned.html"), Page.of(name, Snapshots.ofAllocators(name, memory)));
            chromium.open(page);
            chromium.hover("#regions", 0.2, 0.1);
            final String shown = "a\\u202e\\u2067\\u200b\\u0007b";
            for (final String where :
                    List.of("h1", ".subtitle", "#map", ".tip", "[aria-label=\"Recent events\"]", "title")) {
                assertThat(text(where)).as(where).contains(shown);
            }
            assertThat(Files.readString(page)).doesNotContainPattern("[\\p{Cf}\\p{Cc}&&[^\n]]");
            assertThat(chromium.evaluate("getComputedStyle(document.querySelector('td.name')).unicodeBidi"))
                    .isEqualTo("isolate");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void leaksAreListedByCallSite(@TempDir Path directory) throws Exception {
            final Path leaks = Files.writeString(
                    directory.resolve("leaks.html"),
                    Page.of("leaks", Snapshots.of(null, AllocatorSnapshot.EMPTY, Map.of())));
            for (final int width : List.of(390, 1280)) {
                chromium.show(width, 900, width == 390);
                chromium.open(leaks);
                assertThat(chromium.evaluate("document.documentElement.scrollWidth"))
                        .isEqualTo(Integer.toString(width));
                chromium.screenshot(PICTURES.resolve("leaks-" + width + ".png"));
            }
            assertThat(text("section.alarm"))
                    .contains("session " + Snapshots.HOSTILE + ": 1,000 blocks are live")
                    .contains("465 of them", "com.example.Leak.line(Leak.java:1)", "7 call sites with fewer bytes");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void recentEventsAreListedByKind() throws Exception {
            chromium.open(failure);
            final String rows = "document.querySelectorAll('[aria-label=\"Recent events\"] tbody tr').length";
            assertThat(chromium.evaluate(rows)).isEqualTo("5");
            assertThat(text("#historyOut")).isEqualTo("Events 1 to 5 of the latest 5, the latest first.");
            assertThat(text("[aria-label=\"Recent events\"] tbody tr"))
                    .contains("failure", "4.88 KiB", Snapshots.HOSTILE);
            chromium.evaluate("(s => { s.value = 'free'; s.dispatchEvent(new Event('change')); })"
                    + "(document.querySelector('#kind'))");
            assertThat(chromium.evaluate(rows)).isEqualTo("2");
            assertThat(text("[aria-label=\"Recent events\"] tbody"))
                    .contains("0x2000")
                    .doesNotContain("failure");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void theTimelineZoomsWithMouseButtonsAndKeys() throws Exception {
            chromium.open(trace);
            final String range = "allocatorView.from.toFixed() + ' ' + allocatorView.to.toFixed()";
            assertThat(chromium.evaluate(range)).isEqualTo("0 500000");
            chromium.drag("#timeline", 0.4, 0.6);
            final String[] zoomed = chromium.evaluate(range).split(" ", -1);
            assertThat(Integer.parseInt(zoomed[0])).isBetween(150_000, 220_000);
            assertThat(Integer.parseInt(zoomed[1])).isBetween(280_000, 320_000);
            chromium.press("#timeline", "0");
            assertThat(chromium.evaluate(range)).isEqualTo("0 500000");
            chromium.press("#timeline", "+");
            assertThat(chromium.evaluate(range)).isNotEqualTo("0 500000");
            chromium.evaluate("document.querySelector('button[aria-label=\"show all events\"]').click()");
            assertThat(chromium.evaluate(range)).isEqualTo("0 500000");
            chromium.hover("#timeline", 0.5, 0.5);
            assertThat(text("#timelineOut")).matches("Event 2[0-9]{2},[0-9]{3}: requested .*");
            chromium.press("#timeline", "Home");
            assertThat(text("#timelineOut")).startsWith("Event 0: requested 400 MiB (419,430,400 bytes)");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void aClickShowsTheMapOfTheNearestMoment() throws Exception {
            chromium.open(trace);
            chromium.drag("#timeline", 0.999, 0.999);
            assertThat(chromium.evaluate("document.querySelector('#map').selectedOptions[0].textContent"))
                    .isEqualTo("best-fit, event 451,000");
        }

        /** Each figure can be had without the pictures. */
        @Test
        void picturesHaveTextAndControlsHaveNames() throws Exception {
            for (final Path page : List.of(failure, trace)) {
                chromium.open(page);
                assertThat(chromium.evaluate("[...document.querySelectorAll('canvas')].every(c => c.tabIndex === 0"
                                + " && c.getAttribute('aria-label').length > 20)"))
                        .isEqualTo("true");
                assertThat(chromium.evaluate("[...document.querySelectorAll('button, select')].every(b =>"
                                + " b.getAttribute('aria-label') || b.closest('label'))"))
                        .isEqualTo("true");
            }
        }
    }

    @Test
    void namesOfFilesMayBeAnything() throws IOException {
        assertThat(Page.of("a & b <c>", failed())).contains("<title>a &amp; b &lt;c&gt;</title>");
    }
}
