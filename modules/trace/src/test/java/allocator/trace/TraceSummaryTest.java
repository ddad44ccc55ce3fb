package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.trace.TraceSummary.Lifetimes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceSummaryTest {
    @TempDir
    private Path folder;

    private TraceSummary of(String... lines) throws IOException {
        final Path file = folder.resolve("t.csv");
        Files.writeString(file, "op,id,bytes,stream\n" + String.join("\n", lines) + "\n");
        return TraceSummary.of(Trace.read(file));
    }

    @Test
    void everyFigureOfASmallTrace() throws IOException {
        final TraceSummary summary = of("a,0,100,7", "a,1,0,7", "f,1,0,7", "a,2,28,3", "f,0,100,7", "a,3,127,3");
        assertThat(summary.trace()).isEqualTo("t.csv");
        assertThat(summary.events()).isEqualTo(6);
        assertThat(summary.allocations()).isEqualTo(4);
        assertThat(summary.liveAtEnd()).isEqualTo(2);
        assertThat(summary.allocatedBytes()).isEqualTo(255);
        assertThat(summary.peakLiveBlocks()).isEqualTo(2);
        assertThat(summary.peakLiveBytes()).isEqualTo(155);
        assertThat(summary.peakEvent()).isEqualTo(5);
        assertThat(summary.lifetimes()).isEqualTo(new Lifetimes(1, 1, 4, 4));
        assertThat(summary.streams())
                .containsExactly(new TraceSummary.Stream(2, 100, 100), new TraceSummary.Stream(2, 155, 155));
        assertThat(summary.sizes())
                .containsExactly(
                        new TraceSummary.Sizes(0, 0, 1, 0),
                        new TraceSummary.Sizes(16, 31, 1, 28),
                        new TraceSummary.Sizes(64, 127, 2, 227));
    }

    @Test
    void aTraceWithoutEvents() throws IOException {
        final TraceSummary summary = of();
        assertThat(summary.peakEvent()).isEqualTo(-1);
        assertThat(summary.lifetimes()).isEqualTo(new Lifetimes(0, 0, 0, 0));
        assertThat(summary.streams()).isEmpty();
        assertThat(summary.sizes()).isEmpty();
    }

    @Test
    void sumsDoNotOverflow() throws IOException {
        final TraceSummary summary = of("a,0,9223372036854775552,0", "a,1,9223372036854775552,0");
        assertThat(summary.allocatedBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(summary.peakLiveBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(summary.sizes().getFirst().bytes()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void quantilesOfManyLifetimes() throws IOException {
        final String[] lines = new String[20];
        for (int i = 0; i < 10; i++) {
            lines[i] = "a," + i + ",1,0";
            lines[10 + i] = "f," + (9 - i) + ",1,0"; // the last one allocated lives for 1, the first one for 19
        }
        assertThat(of(lines).lifetimes()).isEqualTo(new Lifetimes(1, 9, 17, 19));
    }

    @Test
    void theBundledTracesAgreeWithThemselves() throws IOException {
        for (final String name : Trace.bundledNames()) {
            final TraceSummary summary = TraceSummary.of(Trace.bundled(name));
            assertThat(summary.sizes().stream()
                            .mapToInt(TraceSummary.Sizes::blocks)
                            .sum())
                    .isEqualTo(summary.allocations());
            assertThat(summary.streams().stream()
                            .mapToLong(TraceSummary.Stream::bytes)
                            .sum())
                    .isEqualTo(summary.allocatedBytes());
            assertThat(summary.peakEvent()).isPositive();
        }
    }
}
