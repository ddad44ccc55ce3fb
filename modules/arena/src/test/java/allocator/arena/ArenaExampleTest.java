package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The examples of the module's page, which are compiled and run here. */
class ArenaExampleTest {
    private static final String BEGIN = "// example\n";
    private static final String END = "        // end\n";

    private static long example(Allocator device, SyncStream stream) {
        // example
        AllocatorOptions requested = AllocatorOptions.of(Map.of("arena.max_mem", "67108864"));
        requested.requireValid(ArenaOptions.KEYS);
        BfcArena arena = new BfcArena(device, ArenaConfig.from(requested));
        StreamArenaAllocator allocator = new StreamArenaAllocator(arena, requested.resolve(ArenaOptions.KEYS));

        long weights = allocator.reserve(4_000_000); // directly from the device, outside the regions
        long input = allocator.allocOnStream(100_000, stream); // from a first region of 1 MiB
        allocator.free(input); // this stream may reuse it at once, others after an event of this stream
        stream.flush();
        allocator.endRun(stream); // now any stream may use what was freed; releaseStream when the stream closes

        ShrinkReport report = allocator.shrink(); // keeps the first region, unless arena.keep_first_region is 0
        allocator.free(weights);
        allocator.close();
        // end
        return report.bytesHeld();
    }

    @Test
    void theExampleRuns() {
        final FakeDevice device = new FakeDevice();

        assertThat(example(device, new FakeStream())).isEqualTo(4_000_000 + 1_048_576);
        assertThat(device.liveBlocks()).isZero();
    }

    @Test
    void thePageQuotesTheExample() throws IOException {
        final String source = Files.readString(Path.of("src/test/java/allocator/arena/ArenaExampleTest.java"));
        final int begin = source.indexOf("        " + BEGIN) + 8 + BEGIN.length();
        final String example =
                source.substring(begin, source.indexOf(END, begin)).indent(-8);

        assertThat(Path.of("../../docs/modules/java.allocator.arena.md"))
                .content()
                .contains("```java\n" + example + "```\n");
    }
}
