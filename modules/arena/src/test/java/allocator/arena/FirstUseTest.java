package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** The Java heap or the stack ends at the first use of an arena in a process: it can be used later. */
class FirstUseTest {
    /** Calls that differ in what they need: each is tried in JVMs of its own, which takes seconds. */
    static final List<String> CALLS = List.of("alloc", "double free", "no memory");

    static final List<String> OTHER_CALLS = List.of("reserve", "shrink", "invalid size", "closed");

    /** Runs the program in a JVM that compiles nothing twice: it lives for seconds. */
    private static void run(String heap, String end, String call) throws Exception {
        OwnJvm.run(FirstUse.class, List.of(heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"), end, call);
    }

    @ParameterizedTest
    @FieldSource("CALLS")
    void aCallCanBeRepeatedAfterTheHeapHasEndedInItsFirstUse(String call) throws Exception {
        run("-Xmx20m", "heap", call);
    }

    @ParameterizedTest
    @FieldSource("CALLS")
    void norIsTheEndOfTheStackForLong(String call) throws Exception {
        run("-Xmx64m", "stack", call);
    }

    @ParameterizedTest
    @FieldSource("OTHER_CALLS")
    @Tag("thorough")
    void otherCallsCanBeRepeatedToo(String call) throws Exception {
        run("-Xmx20m", "heap", call);
        run("-Xmx64m", "stack", call);
    }

    @Test
    void noCallLoadsAClassAfterTheFirstArenaWasCreated(@TempDir Path folder) throws Exception {
        final Path log = folder.resolve("classes.log");
        OwnJvm.run(FirstUse.class, List.of("-Xlog:class+load:file=" + log), "classes");
        final List<String> afterwards = Files.readAllLines(log).stream()
                .dropWhile(line -> !line.contains("FirstUse$Begun"))
                .toList();
        assertThat(afterwards).isNotEmpty();
        // But for the dump: a failure can do without.
        assertThat(afterwards)
                .filteredOn(line -> line.matches(".* allocator\\.(arena|provider|spi)\\..*"))
                .allMatch(line -> line.matches(
                        ".*(FirstUse|ArenaDump|ArenaSnapshot|Placement\\$ChunkFactory|LaneReport\\$\\$Lambda).*"));
    }
}
