package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.Console;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;

class PairedRunsTest {
    private static final double THRESHOLD = 1.03;
    private static final Cell CELL = new Cell("arena", 1, "large");

    private final Console console = new Console();
    private final List<String> windows = new ArrayList<>();
    private final Set<Object> open = new HashSet<>();
    private final Set<Integer> lanes = ConcurrentHashMap.newKeySet();

    /** A side whose JVMs each have a time of their own, by their number from 0. */
    private final class FakeMeter implements Meter {
        private final String name;
        private final IntToDoubleFunction nanosOfJvm;
        private final List<List<String>> options = new ArrayList<>();
        private int jvms;

        FakeMeter(String name, IntToDoubleFunction nanosOfJvm) {
            this.name = name;
            this.nanosOfJvm = nanosOfJvm;
        }

        @Override
        public synchronized Sampler open(Cell cell, List<String> jvmOptions, int lane) {
            lanes.add(lane);
            options.add(jvmOptions);
            final double nanos = nanosOfJvm.applyAsDouble(jvms++);
            final Sampler sampler = new Sampler() {
                private boolean isReady;

                @Override
                public void awaitReady() {
                    isReady = true;
                }

                @Override
                public double nextNanos() {
                    assertTrue(isReady);
                    assertEquals(2, open.size());
                    windows.add(name);
                    return nanos;
                }

                @Override
                public void close() {
                    open.remove(this);
                }
            };
            open.add(sampler);
            return sampler;
        }
    }

    private final FakeMeter a = new FakeMeter("A", jvm -> 100);

    private Map<Cell, Pairs> measure(FakeMeter b, BooleanSupplier isTimeUp, Cell... cells) throws Exception {
        return new PairedRuns(a, b, THRESHOLD, 1, isTimeUp, console.out()).measure(List.of(cells), 1);
    }

    private Map<Cell, Pairs> measure(FakeMeter b, Cell... cells) throws Exception {
        return measure(b, () -> false, cells);
    }

    private static Verdict verdict(Map<Cell, Pairs> measured) {
        return Objects.requireNonNull(measured.get(CELL)).verdict(THRESHOLD);
    }

    @Test
    void equalSidesPassAfterTheFewestPairsEachWithNewJvms() throws Exception {
        final Map<Cell, Pairs> measured = measure(new FakeMeter("B", jvm -> 100), CELL);

        assertEquals(Verdict.PASS, verdict(measured));
        assertEquals(Ratio.FEWEST_PAIRS, a.jvms);
        assertEquals(Set.of(), open);
    }

    @Test
    void theTwoJvmsOfAPairCompileAtThresholdsOfTheirOwn() throws Exception {
        final FakeMeter b = new FakeMeter("B", jvm -> 100);
        measure(b, CELL);

        assertEquals(a.options, b.options);
        assertEquals(a.jvms, new HashSet<>(a.options).size());
        assertTrue(a.options.getFirst().getFirst().matches("-XX:Tier4InvocationThreshold=[0-9]+"), "" + a.options);
    }

    @Test
    void aSlowerSideIsFound() throws Exception {
        assertEquals(Verdict.SLOWER, verdict(measure(new FakeMeter("B", jvm -> 104), CELL)));
    }

    @Test
    void roundsGoOnUntilTheIntervalSuffices() throws Exception {
        final FakeMeter noisy = new FakeMeter("B", jvm -> jvm % 2 == 0 ? 96 : 104);

        assertEquals(Verdict.PASS, verdict(measure(noisy, CELL)));
        assertTrue(noisy.jvms > Ratio.FEWEST_PAIRS, "pairs: " + noisy.jvms);
    }

    @Test
    void whatIsDecidedIsMeasuredNoMore() throws Exception {
        final Cell other = new Cell("bridge", 1, "large");
        // The JVMs of the first eight rounds take turns; those of the other cell are noisy.
        final FakeMeter b = new FakeMeter("B", jvm -> jvm < 16 && jvm % 2 == 0 ? 100 : jvm % 4 < 2 ? 96 : 104);
        final Map<Cell, Pairs> measured = measure(b, CELL, other);

        assertEquals(
                Ratio.FEWEST_PAIRS, Objects.requireNonNull(measured.get(CELL)).count());
        assertTrue(Objects.requireNonNull(measured.get(other)).count() > Ratio.FEWEST_PAIRS);
    }

    @Test
    void whenTheTimeIsUpTheRestIsUndecided() throws Exception {
        final Map<Cell, Pairs> measured = measure(new FakeMeter("B", jvm -> 100), () -> a.jvms == 3, CELL);

        assertEquals(Verdict.UNDECIDED, verdict(measured));
        assertEquals(3, a.jvms);
    }

    /** The first pair of each lane waits for that of the other. */
    @Test
    void lanesMeasureSideBySide() throws Exception {
        final CountDownLatch both = new CountDownLatch(2);
        final Meter waiting = new Meter() {
            @Override
            public Sampler open(Cell cell, List<String> jvmOptions, int lane) {
                if (lanes.add(lane)) {
                    both.countDown();
                }
                return new Sampler() {
                    @Override
                    public void awaitReady() throws InterruptedException {
                        assertTrue(both.await(20, TimeUnit.SECONDS));
                    }

                    @Override
                    public double nextNanos() {
                        return 100;
                    }

                    @Override
                    public void close() {}
                };
            }
        };
        final Map<Cell, Pairs> measured = new PairedRuns(waiting, waiting, THRESHOLD, 1, () -> false, console.out())
                .measure(List.of(CELL, new Cell("bridge", 1, "large")), 2);

        assertEquals(Set.of(0, 1), lanes);
        measured.forEach((cell, pairs) -> assertEquals(Verdict.PASS, pairs.verdict(THRESHOLD)));
    }

    @Test
    void aLaneThatFailsEndsTheOthers() {
        final Meter failing = (cell, jvmOptions, lane) -> {
            throw new SideFailedException("lane " + lane);
        };
        final SideFailedException thrown = assertThrows(
                SideFailedException.class,
                () -> new PairedRuns(failing, failing, THRESHOLD, 1, () -> false, console.out())
                        .measure(List.of(CELL), 3));
        assertTrue(String.valueOf(thrown.getMessage()).startsWith("lane "));
    }

    @Test
    void theSidesPlayWindowsInTurnAndEachIsFirstEquallyOften() throws Exception {
        measure(new FakeMeter("B", jvm -> 100), CELL);

        int first = 0;
        int veryFirst = 0;
        final int perJvm = windows.size() / Ratio.FEWEST_PAIRS;
        for (int i = 0; i < windows.size(); i += 2) {
            assertEquals(Set.of("A", "B"), Set.copyOf(windows.subList(i, i + 2)));
            first += windows.get(i).equals("A") ? 1 : 0;
            veryFirst += i % perJvm == 0 && windows.get(i).equals("A") ? 1 : 0;
        }
        assertEquals(windows.size() / 4, first);
        assertEquals(Ratio.FEWEST_PAIRS / 2, veryFirst);
    }
}
