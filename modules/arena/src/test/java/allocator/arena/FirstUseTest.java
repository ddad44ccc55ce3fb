package allocator.arena;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The Java heap or the stack ends at the first use of an arena in a process: it can be used later. */
class FirstUseTest {
    @ParameterizedTest
    @ValueSource(strings = {"reserve", "alloc", "shrink", "invalid size", "double free", "closed"})
    void aCallCanBeRepeatedAfterTheHeapHasEndedInItsFirstUse(String call) throws Exception {
        OwnJvm.run(FirstUse.class, List.of("-Xmx20m", "-XX:+UseSerialGC"), "heap", call);
    }

    @ParameterizedTest
    @ValueSource(strings = {"reserve", "alloc", "shrink", "invalid size", "double free", "closed"})
    void norIsTheEndOfTheStackForLong(String call) throws Exception {
        OwnJvm.run(FirstUse.class, List.of("-Xmx64m", "-XX:+UseSerialGC"), "stack", call);
    }
}
