package allocator.bench.models;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import allocator.provider.support.event.AllocatorEvents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventCostTest {
    @TempDir
    private Path folder;

    @Test
    void printsAndKeepsATable() throws IOException {
        final Console console = new Console();
        assertThat(EventCost.execute(
                        console.out(),
                        "--work=pairs",
                        "--rounds=3",
                        "--results=" + folder,
                        "--keep=kept",
                        "--commit=abc"))
                .isZero();
        final String kept = Files.readString(folder.resolve("kept.md"));
        assertThat(kept)
                .contains("- commit: abc", "| none | ", "| 0.0 | 0.0–0.0 |")
                .contains("| the latest 4,096 (`memory.history`) | ", "| flight recorder, with stack traces | ");
        assertThat(console.output()).isEqualTo(kept);
    }

    @Test
    void nothingIsRecordedAfterwards() {
        try (EventSwitch events = new EventSwitch()) {
            for (final RecordedEvents kind : RecordedEvents.values()) {
                events.set(kind);
                assertThat(AllocatorEvents.recordsAllocations()).as("%s", kind).isEqualTo(kind != RecordedEvents.NONE);
            }
        }
        assertThat(AllocatorEvents.recordsAllocations()).isFalse();
    }

    @Test
    void otherRoundsAreRejected() {
        assertThat(EventCost.execute(new Console().out(), "--rounds=0")).isEqualTo(2);
    }
}
