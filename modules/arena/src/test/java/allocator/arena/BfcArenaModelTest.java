package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.LongSupplier;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random programs, run on the arena and on {@link ModelArena}: every address, failure, chunk and counter is the same.
 */
class BfcArenaModelTest {
    private static final int STREAMS = 3;

    /** More than a search visits one by one. */
    private static final int MANY_STREAMS = 24;

    /** How many random programs a bug may survive. */
    private static final int PROGRAMS = 300;

    /** What a step does, and how often it comes. */
    enum Kind {
        ALLOC(4),
        ALLOC_ON_STREAM(10),
        RESERVE(1),
        FREE(14),
        SHRINK(1),
        WAIT(2),
        END_RUN(1),
        RELEASE(1);

        private final int weight;

        Kind(int weight) {
            this.weight = weight;
        }
    }

    /**
     * A step of a program.
     *
     * @param kind what it does
     * @param size a size, where it needs one
     * @param choice which block or stream
     */
    record Step(Kind kind, int size, int choice) {}

    /**
     * The world of a program.
     *
     * @param config the arena's settings
     * @param capacity what the device has
     */
    record Setup(ArenaConfig config, long capacity) {}

    @Property
    void theArenaDoesWhatTheModelDoes(@ForAll("setups") Setup setup, @ForAll("programs") List<Step> program) {
        compare(setup, program, STREAMS, null);
    }

    @Property
    void withManyStreamsItDoesTheSame(@ForAll("setups") Setup setup, @ForAll("longPrograms") List<Step> program) {
        compare(setup, program, MANY_STREAMS, null);
    }

    /** Each bug is found: the comparison is strict enough. */
    @ParameterizedTest
    @EnumSource(ModelBug.class)
    void aBrokenRuleIsDetected(ModelBug bug) {
        assertThatThrownBy(() -> comparePrograms(bug))
                .as("%d programs with the bug %s", PROGRAMS, bug)
                .isInstanceOf(AssertionError.class);
    }

    /** The programs that find the bugs find nothing where there is none. */
    @Test
    void withoutABugTheSameProgramsPass() {
        comparePrograms(null);
    }

    private static void comparePrograms(@Nullable ModelBug bug) {
        for (int seed = 0; seed < PROGRAMS; seed++) {
            final Random random = new Random(seed);
            compare(randomSetup(random), randomProgram(random), STREAMS, bug);
        }
    }

    /** With one stream, every block lies where it would lie without streams. */
    @Property
    void oneStreamPlacesAsNoStream(@ForAll("setups") Setup setup, @ForAll("programs") List<Step> program) {
        final FakeStream stream = new FakeStream();
        final FakeDevice device = new FakeDevice().capacity(setup.capacity);
        final BfcArena arena = new BfcArena(device, setup.config);
        final FakeDevice deviceWithout = new FakeDevice().capacity(setup.capacity);
        final BfcArena without = new BfcArena(deviceWithout, setup.config);
        final List<Long> live = new ArrayList<>();
        for (final Step step : program) {
            switch (step.kind) {
                case ALLOC, ALLOC_ON_STREAM -> {
                    final Outcome outcome = Outcome.of(() -> arena.allocOnStream(step.size, stream));
                    assertThat(outcome).isEqualTo(Outcome.of(() -> without.alloc(step.size)));
                    outcome.addTo(live);
                }
                case FREE -> {
                    if (!live.isEmpty()) {
                        final long address = live.remove(step.choice % live.size());
                        arena.free(address);
                        without.free(address);
                    }
                }
                case SHRINK -> assertThat(arena.shrink()).isEqualTo(without.shrink());
                case END_RUN -> arena.endRun(stream);
                default -> arena.releaseStream(stream);
            }
            assertThat(arena.stats()).isEqualTo(without.stats());
        }
    }

    private static void compare(Setup setup, List<Step> program, int streamCount, @Nullable ModelBug bug) {
        final FakeDevice device = new FakeDevice().capacity(setup.capacity);
        final BfcArena arena = new BfcArena(device, setup.config);
        final FakeDevice modelDevice = new FakeDevice().capacity(setup.capacity);
        final ModelArena model = new ModelArena(modelDevice, setup.config, bug);
        final List<FakeStream> streams = new ArrayList<>();
        for (int i = 0; i < streamCount; i++) {
            streams.add(new FakeStream());
        }
        final List<Long> live = new ArrayList<>();
        for (final Step step : program) {
            perform(step, arena, model, streams, live);
            arena.checkConsistency();
            assertThat(arena.stats()).isEqualTo(model.stats());
            assertThat(ArenaState.chunksOf(arena)).isEqualTo(model.snapshot());
            assertThat(device.liveBytes()).isEqualTo(arena.stats().bytesHeld());
            assertThat(device.requestedSizes()).isEqualTo(modelDevice.requestedSizes());
        }
        arena.close();
        assertThat(device.liveBlocks()).isZero();
    }

    private static void perform(
            Step step, BfcArena arena, ModelArena model, List<FakeStream> streams, List<Long> live) {
        final FakeStream stream = streams.get(step.choice % streams.size());
        switch (step.kind) {
            case ALLOC -> allocate(() -> arena.alloc(step.size), () -> model.alloc(step.size, null), live);
            case ALLOC_ON_STREAM ->
                allocate(() -> arena.allocOnStream(step.size, stream), () -> model.alloc(step.size, stream), live);
            case RESERVE -> allocate(() -> arena.reserve(step.size), () -> model.reserve(step.size), live);
            case FREE -> {
                if (!live.isEmpty()) {
                    final long address = live.remove(step.choice % live.size());
                    arena.free(address);
                    model.free(address);
                }
            }
            case SHRINK -> {
                arena.shrink();
                model.shrink();
            }
            case WAIT -> stream.notifyAndWait(streams.get(step.choice / streams.size() % streams.size()));
            case END_RUN -> {
                arena.endRun(stream);
                model.endRun(stream);
            }
            case RELEASE -> {
                arena.releaseStream(stream);
                model.release(stream);
            }
        }
    }

    private static void allocate(LongSupplier arena, LongSupplier model, List<Long> live) {
        final Outcome outcome = Outcome.of(arena);
        assertThat(outcome).isEqualTo(Outcome.of(model));
        outcome.addTo(live);
    }

    /**
     * What an allocation came to.
     *
     * @param address the address, -1 for a failure
     * @param reason how the message of a failure begins, empty for a success
     */
    private record Outcome(long address, String reason) {
        static Outcome of(LongSupplier allocation) {
            try {
                return new Outcome(allocation.getAsLong(), "");
            } catch (OutOfMemoryException e) {
                final String message = e.getMessage();
                return new Outcome(-1, message.substring(0, message.indexOf('[')));
            }
        }

        void addTo(List<Long> live) {
            if (address > 0) {
                live.add(address);
            }
        }
    }

    @Provide
    Arbitrary<Setup> setups() {
        return Arbitraries.longs().map(seed -> randomSetup(new Random(seed)));
    }

    private static Setup randomSetup(Random random) {
        final ArenaConfig config = new ArenaConfig(
                random.nextInt(4) == 0 ? ExtendStrategy.SAME_AS_REQUESTED : ExtendStrategy.POWER_OF_TWO,
                1 + random.nextInt(8192),
                1 + random.nextInt(4096),
                1 + random.nextInt(8192),
                1 + random.nextInt(32768),
                random.nextBoolean() ? 0 : 1 + random.nextInt(65536),
                PlacementPolicy.BEST_FIT,
                0,
                random.nextBoolean());
        return new Setup(config, random.nextBoolean() ? 1L << 40 : 8192 + random.nextInt(65536));
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        return programsOf(150);
    }

    @Provide
    Arbitrary<List<Step>> longPrograms() {
        return programsOf(500);
    }

    private static Arbitrary<List<Step>> programsOf(int maxSteps) {
        final Arbitrary<Kind> kinds = Arbitraries.of(weighted());
        final Arbitrary<Integer> sizes = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 2000), Arbitraries.integers().between(0, 20_000));
        return Combinators.combine(kinds, sizes, Arbitraries.integers().between(0, 1 << 20))
                .as(Step::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(maxSteps);
    }

    private static List<Step> randomProgram(Random random) {
        final List<Step> program = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            final int size = random.nextInt(random.nextInt(3) == 0 ? 20_000 : 2000);
            program.add(new Step(randomKind(random), size, random.nextInt(1 << 20)));
        }
        return program;
    }

    private static Kind randomKind(Random random) {
        final List<Kind> kinds = weighted();
        return kinds.get(random.nextInt(kinds.size()));
    }

    /** Every kind as often as it has weight. */
    private static List<Kind> weighted() {
        final List<Kind> kinds = new ArrayList<>();
        for (final Kind kind : Kind.values()) {
            kinds.addAll(Collections.nCopies(kind.weight, kind));
        }
        return kinds;
    }
}
