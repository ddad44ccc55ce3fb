package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import allocator.testkit.browser.InChromium;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The page of a plan as a file, and in a browser. */
class PlanPageTest {
    private static final long MIB = 1 << 20;

    /** Times as nanoseconds since 1970, which a number of JavaScript does not hold. */
    private static final long EPOCH = 1_764_000_000_000_000_001L;

    private static PlannedBlocks small() {
        final Instance instance = new Instance(List.of(
                new Lifetime(EPOCH, EPOCH + 100, 30 * MIB),
                new Lifetime(EPOCH, EPOCH + 50, 20 * MIB),
                new Lifetime(EPOCH + 50, EPOCH + 100, 10 * MIB),
                new Lifetime(EPOCH + 60, EPOCH + 60, MIB)));
        return new PlannedBlocks(
                "4 blocks",
                List.of("weights", Snapshots.HOSTILE, "12", "0"),
                instance,
                new Plan(new long[] {0, 30 * MIB, 30 * MIB, 0}, 50 * MIB, 40 * MIB, 7),
                64 * MIB);
    }

    /** Rows of blocks, most of them far below a pixel. */
    private static PlannedBlocks large(int count) {
        final List<Lifetime> lifetimes = new ArrayList<>();
        final long[] offsets = new long[count];
        final int rows = 2000;
        for (int i = 0; i < count; i++) {
            final int column = i / rows;
            lifetimes.add(new Lifetime(1000L * column, 1000L * column + 400 + i % 600, 256L * (1 + i % 37)));
            offsets[i] = i % rows * 256L * 40;
        }
        return new PlannedBlocks(
                "large",
                IntStream.range(0, count).mapToObj(Integer::toString).toList(),
                new Instance(lifetimes),
                new Plan(offsets, rows * 256L * 40, rows * 256L * 20, 0),
                0);
    }

    @Test
    void aPageIsOneFileThatNamesNoOther() {
        assertThat(Page.of("p", small()))
                .doesNotContain("http:", "https:", "src=\"", "@import", "url(")
                .contains("default-src 'none'")
                .doesNotContain("{{", "unsafe-inline");
    }

    @Test
    void hostileNamesEndNoElement() {
        assertThat(Page.of(Snapshots.HOSTILE, small()))
                .doesNotContain("<img", "</script><script>console")
                .contains("\\u003cimg src=x");
    }

    @Test
    void aPageOfTwoHundredThousandBlocksWeighsAtMostEightMebibytes() {
        assertThat(Page.of("large", large(200_000)).length()).isBetween((int) MIB, (int) (8 * MIB));
    }

    @Test
    @Tag("thorough")
    void aPageOfAMillionAndAHalfBlocksWeighsAtMostEightMebibytesAndCountsAll() {
        final String page = Page.of("large", large(1_500_000));
        assertThat(page.length()).isBetween((int) (4 * MIB), (int) (8 * MIB));
        assertThat(page).contains("\"columns\":400,\"rows\":200,\"smallBlocks\":1");
    }

    @Test
    void timesMayBeFartherApartThanALong() {
        final Instance instance = new Instance(List.of(
                new Lifetime(Long.MIN_VALUE, Long.MIN_VALUE + 1, 5),
                new Lifetime(Long.MAX_VALUE - 1, Long.MAX_VALUE, 5)));
        final String page =
                Page.of("p", new PlannedBlocks("", List.of("a", "b"), instance, new Plan(new long[2], 5, 5, 0), 0));
        assertThat(page).contains("\"span\":\"18446744073709551615\"", "\"since\":[0,\"18446744073709551614\"]");
    }

    @Test
    void blocksAreListedByTheirBeginningWithNumbersAsNumbers() {
        final Instance instance = new Instance(
                List.of(new Lifetime(5, 9, 8), new Lifetime(3, 4, 8), new Lifetime(5, 6, 8), new Lifetime(3, 8, 8)));
        final Plan plan = new Plan(new long[] {0, 8, 16, 24}, 32, 8, 0);
        assertThat(Page.of("p", new PlannedBlocks("", List.of("007", "1", "1234567890123456", "x"), instance, plan, 0)))
                .contains("\"ids\":[1,\"x\",\"007\",\"1234567890123456\"],\"since\":[0,0,2,0],\"life\":[1,5,4,1],"
                        + "\"size\":[1,1,1,1],\"offset\":[1,3,0,2]");
        assertThat(Page.of("p", new PlannedBlocks("", List.of("0", "10", "2", "30"), instance, plan, 0)))
                .contains("\"ids\":[10,20,-30,2],\"since\"");
    }

    @Test
    void eachBlockHasAnId() {
        final PlannedBlocks blocks = small();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PlannedBlocks("", List.of("a"), blocks.instance(), blocks.plan(), 0))
                .withMessage("1 ids for 4 blocks");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PlannedBlocks("", blocks.ids(), blocks.instance(), blocks.plan(), -1));
    }

    /** The ids of a trace's blocks are the numbers of its allocations. */
    @Test
    void idsThatAreNumbersTakeTwoCharactersEach() {
        assertThat(Page.of("large", large(1000))).contains("\"ids\":[0,1,1,1,");
        assertThat(Page.of("p", small())).contains(",12],\"since\"");
    }

    @Nested
    class InABrowser extends InChromium {
        private Path plan;
        private Path many;
        private Path together;

        @BeforeAll
        void write(@TempDir Path folder) throws Exception {
            plan = Files.writeString(folder.resolve("plan.html"), Page.of(Snapshots.HOSTILE, small()));
            many = Files.writeString(folder.resolve("many.html"), Page.of("large", large(200_000)));
            together = Files.writeString(folder.resolve("together.html"), Page.of("large", large(600_000)));
        }

        @Test
        void smallBlocksOfALargePlanAreDrawnTogetherAndCounted() throws Exception {
            chromium.open(together);
            assertThat(chromium.evaluate("document.querySelector('#plan').getAttribute('aria-label')"))
                    .startsWith("Plan of 600,000 blocks");
            assertThat(text(".legend")).contains("together");
            assertThat(chromium.evaluate("String(allocatorPlan.blocks.some(b => b < -1))"))
                    .isEqualTo("true");
            assertThat(chromium.evaluate("allocatorPlan.textOf(allocatorPlan.blocks.find(b => b < -1)).join()"))
                    .contains(" small blocks here,of at most ");
            assertThat(chromium.errors()).isEmpty();
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
            for (final Path page : List.of(plan, many)) {
                chromium.open(page);
                assertThat(chromium.evaluate("document.documentElement.scrollWidth"))
                        .as("%s at %d", page, width)
                        .isEqualTo(Integer.toString(width));
                assertThat(colours("#plan")).isGreaterThan(5);
                chromium.screenshot(
                        PICTURES.resolve(page.getFileName().toString().replace(".html", "") + "-" + width
                                + (isDark ? "-dark" : "") + ".png"));
            }
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void aBlockThatIsHoveredTellsItsIdSizeOffsetAndLife() throws Exception {
            chromium.open(plan);
            chromium.hover("#plan", 0.3, 0.8);
            assertThat(text(".tip"))
                    .isEqualTo("Block weights30.0 MiB (31,457,280 bytes)at offset 0, up to 31,457,280"
                            + "lives from 1,764,000,000,000,000,001 to before 1,764,000,000,000,000,101 (100)");
            chromium.hover("#plan", 0.3, 0.4);
            assertThat(text(".tip"))
                    .startsWith("Block " + Snapshots.HOSTILE + "20.0 MiB")
                    .contains("(50)");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void keysGoToTheNextBlockAndToThoseAboveAndBelow() throws Exception {
            chromium.open(plan);
            chromium.press("#plan", "Home");
            assertThat(text("#planOut")).startsWith("Block weights; 30.0 MiB");
            chromium.press("#plan", "ArrowUp");
            assertThat(text("#planOut")).startsWith("Block <img");
            chromium.press("#plan", "ArrowRight");
            assertThat(text("#planOut")).startsWith("Block 12; 10.0 MiB (10,485,760 bytes); at offset 31,457,280");
            chromium.press("#plan", "ArrowDown");
            assertThat(text("#planOut")).startsWith("Block weights");
            chromium.press("#plan", "End");
            assertThat(text("#planOut")).startsWith("Block 12");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void thePictureZoomsWithMouseButtonsAndKeys() throws Exception {
            chromium.open(many);
            final String range = "allocatorPlan.time.from.toFixed() + ' ' + allocatorPlan.time.to.toFixed()";
            final String all = chromium.evaluate(range);
            chromium.drag("#plan", 0.4, 0.6);
            final String dragged = chromium.evaluate(range);
            assertThat(dragged).isNotEqualTo(all);
            chromium.press("#plan", "0");
            assertThat(chromium.evaluate(range)).isEqualTo(all);
            chromium.press("#plan", "Home");
            chromium.press("#plan", "Enter");
            assertThat(chromium.evaluate("(allocatorPlan.time.to - allocatorPlan.time.from).toFixed()"))
                    .isIn("1199", "1200");
            chromium.press("#plan", "ArrowRight");
            assertThat(chromium.evaluate(
                            "String(allocatorPlan.offset[allocatorPlan.selected] < allocatorPlan.space.to)"))
                    .isEqualTo("true");
            chromium.evaluate("document.querySelector('button[aria-label=\"show all blocks\"]').click()");
            assertThat(chromium.evaluate(range)).isEqualTo(all);
            assertThat(chromium.errors()).isEmpty();
        }

        /** Pixels, not blocks, are what a picture costs: the work of a redraw is counted. */
        @Test
        void aRedrawCostsPixels() throws Exception {
            chromium.open(many);
            assertThat(chromium.evaluate("""
                    (() => {
                      let pixels = 0;
                      const fill = Uint32Array.prototype.fill;
                      Uint32Array.prototype.fill = function(v, from, to) { pixels += to - from || 0; return fill.call(this, v, from, to); };
                      allocatorPlan.draw();
                      Uint32Array.prototype.fill = fill;
                      return String(pixels < 4 * allocatorPlan.columns * allocatorPlan.rows + 200000);
                    })()""")).isEqualTo("true");
        }

        /** Each figure can be had without the picture. */
        @Test
        void picturesHaveTextAndControlsHaveNames() throws Exception {
            chromium.open(plan);
            assertThat(chromium.evaluate("document.querySelector('#plan').getAttribute('aria-label')"))
                    .isEqualTo(
                            "Plan of 3 blocks, time across and offset up: needs 50.0 MiB (52,428,800 bytes), at least"
                                    + " 40.0 MiB (41,943,040 bytes), capacity 64.0 MiB (67,108,864 bytes).");
            assertThat(chromium.evaluate(
                            "[...document.querySelectorAll('button')].every(b =>" + " b.getAttribute('aria-label'))"))
                    .isEqualTo("true");
            assertThat(text("#page"))
                    .contains(
                            "25.00 % above the lower bound at most",
                            "fits", "lower bound 40.0 MiB", "capacity 64.0 MiB");
            assertThat(text("tbody")).startsWith("weights30.0 MiB0");
        }

        /** Numbers of 2<sup>53</sup> and more, which JavaScript rounds. */
        @Test
        void largeNumbersAreShownToTheLastDigit() throws Exception {
            final long large = (1L << 61) - 1;
            final Instance instance = new Instance(List.of(
                    new Lifetime(Long.MIN_VALUE, Long.MIN_VALUE + 3, large),
                    new Lifetime(Long.MIN_VALUE + 1, Long.MAX_VALUE - 1, large)));
            final Plan stacked = new Plan(new long[] {0, large}, 2 * large, 2 * large, 0);
            chromium.open(Files.writeString(
                    plan.resolveSibling("wide.html"),
                    Page.of("wide", new PlannedBlocks("", List.of("7", "5"), instance, stacked, 2 * large + 1))));
            chromium.press("#plan", "End");
            assertThat(text("#planOut"))
                    .isEqualTo(
                            "Block 5; 2.00 EiB (2,305,843,009,213,693,951 bytes); at offset 2,305,843,009,213,693,951,"
                                    + " up to 4,611,686,018,427,387,902; lives from -9,223,372,036,854,775,807"
                                    + " to before 9,223,372,036,854,775,806 (18,446,744,073,709,551,613)");
            assertThat(text("tbody")).contains("2,305,843,009,213,693,951").doesNotContain("about");
            assertThat(chromium.evaluate("document.querySelector('#plan').getAttribute('aria-label')"))
                    .contains("(4,611,686,018,427,387,902 bytes)", "(4,611,686,018,427,387,903 bytes)");
            assertThat(chromium.errors()).isEmpty();
        }

        @Test
        void aPlanWithoutBlocksIsShown() throws IOException, InterruptedException {
            chromium.open(Files.writeString(
                    plan.resolveSibling("none.html"),
                    Page.of(
                            "none",
                            new PlannedBlocks(
                                    "", List.of(), new Instance(List.of()), new Plan(new long[0], 0, 0, 0), 0))));
            assertThat(text("#planOut")).startsWith("Point at");
            assertThat(chromium.errors()).isEmpty();
        }
    }
}
