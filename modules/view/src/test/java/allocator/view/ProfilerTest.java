package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.Environment;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.trace.Replay;
import allocator.trace.ReplayListener;
import allocator.trace.ReplayResult;
import allocator.trace.Trace;
import allocator.view.TraceProfile.Moment;
import allocator.view.TraceProfile.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProfilerTest {
    @TempDir
    private Path folder;

    private final Environment environment = Environment.builder().build();

    @AfterEach
    void close() {
        environment.close();
    }

    private TraceProfile profile(Trace trace, Map<String, String> options) {
        return Profiler.profile(
                trace,
                "policy",
                environment,
                environment.devices().getFirst(),
                AllocatorOptions.of(options),
                done -> {});
    }

    /** Observing changes nothing: peaks are those of a replay that nothing observes. */
    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "slabs"})
    void thePeaksAreThoseOfAReplay(String policy) throws Exception {
        final Trace trace = Trace.bundled("two_streams");
        final Map<String, String> options = Map.of("arena.policy", policy);
        final ReplayResult replay = new Replay(
                        environment, environment.devices().getFirst(), AllocatorOptions.of(options))
                .once(trace, ReplayListener.NONE);

        final TraceProfile profile = profile(trace, options);

        assertThat(profile.peakRequested()).isEqualTo(replay.peakRequestedBytes());
        assertThat(profile.peakInUse()).isEqualTo(replay.peakInUseBytes());
        assertThat(profile.peakHeld()).isEqualTo(replay.peakHeldBytes());
        assertThat(profile.points())
                .hasSizeLessThanOrEqualTo(4000)
                .isSortedAccordingTo((a, b) -> Integer.compare(a.event(), b.event()));
        assertThat(profile.points()).allSatisfy(point -> {
            assertThat(point.inUse()).isGreaterThanOrEqualTo(point.requested());
            assertThat(point.held()).isEqualTo(point.inUse() + point.free());
            assertThat(point.largestFree()).isLessThanOrEqualTo(point.free());
        });
        final int peak = profile.points().stream()
                .max((a, b) -> Long.compare(a.requested(), b.requested()))
                .map(Point::event)
                .orElseThrow();
        assertThat(profile.moments()).extracting(Moment::event).contains(peak);
    }

    @Test
    void eachEventOfASmallTraceIsAPoint() throws IOException {
        final Trace trace = Trace.read(Files.writeString(folder.resolve("small.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,3000,0
                f,1,1000,0
                """));
        final TraceProfile profile = profile(trace, Map.of());
        assertThat(profile.points()).extracting(Point::requested).containsExactly(1000L, 4000L, 3000L);
        assertThat(profile.points()).extracting(Point::event).containsExactly(0, 1, 2);
        assertThat(profile.failures()).isZero();
        assertThat(profile.moments().getLast().memory().regions().getFirst().chunks())
                .extracting(chunk -> chunk.state() == State.LIVE)
                .contains(true);
    }

    @Test
    void memoryFreedOnTheOnlyStreamOfATraceWaitsForNone() throws IOException {
        final Trace trace = Trace.read(Files.writeString(folder.resolve("one.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,3000,0
                f,1,1000,0
                """));
        assertThat(profile(trace, Map.of())
                        .moments()
                        .getLast()
                        .memory()
                        .regions()
                        .getFirst()
                        .chunks())
                .extracting(AllocatorSnapshot.Chunk::state)
                .contains(State.FREE)
                .doesNotContain(State.WAITING);
    }

    @Test
    void failedAllocationsAreCountedAndTheirFreesLeftOut() throws IOException {
        final Trace trace = Trace.read(Files.writeString(folder.resolve("failing.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,3000000,0
                f,2,3000000,0
                f,1,1000,0
                """));
        final TraceProfile profile = profile(trace, Map.of("arena.max_mem", "1048576"));
        assertThat(profile.failures()).isEqualTo(1);
        assertThat(profile.points()).extracting(Point::requested).containsExactly(1000L, 1000L, 1000L, 0L);
    }

    @Test
    void aTraceWithoutEventsHasNoPoints() throws IOException {
        final Trace trace = Trace.read(Files.writeString(folder.resolve("empty.csv"), "op,id,bytes,stream\n"));
        assertThat(profile(trace, Map.of()).points()).isEqualTo(List.of());
    }
}
