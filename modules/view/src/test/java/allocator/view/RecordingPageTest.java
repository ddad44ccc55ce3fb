package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.snapshot.Snapshot;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.testkit.browser.InChromium;
import allocator.view.TraceProfile.Point;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of a recording in a browser. */
class RecordingPageTest extends InChromium {
    private static final long MIB = 1 << 20;

    @Test
    void aPageOfARecordingShowsWhatARecordingKnowsAndNothingElse(@TempDir Path directory) throws Exception {
        final AllocatorSnapshot live = new AllocatorSnapshot(
                List.of(), List.of(new AllocatorSnapshot.Chunk(4096, 5 * MIB, 5 * MIB, State.LIVE, 0)));
        final Snapshot state = Snapshots.ofAllocators("bert", live);
        final List<Point> points = List.of(
                new Point(0, 0, 0, 0, 8 * MIB, 8 * MIB, 0), new Point(1, 0, 5 * MIB, 5 * MIB, 8 * MIB, 3 * MIB, 0));
        final TraceProfile profile =
                new TraceProfile("recorded", false, 2, points, List.of(), 5 * MIB, 5 * MIB, 8 * MIB, 0);
        chromium.open(Files.writeString(
                directory.resolve("recording.html"),
                Page.of(
                        "recording",
                        new Timeline(
                                "Recording",
                                null,
                                profile,
                                List.of(new Timeline.Moment(
                                        "peak", 1, state.allocators().getFirst()))))));
        assertThat(text("#page"))
                .contains("Memory over the recording", "held, peak", "requested, peak", "live 5.00 MiB")
                .doesNotContainIgnoringCase("in use")
                .doesNotContainIgnoringCase("free")
                .doesNotContain("Fragmentation", "with padding", "waiting");
        chromium.press("#timeline", "End");
        assertThat(text("#timelineOut"))
                .startsWith("Event 1: requested 5.00 MiB")
                .contains(", held 8.00 MiB");
        chromium.screenshot(PICTURES.resolve("recording.png"));
        assertThat(chromium.errors()).isEmpty();
    }
}
