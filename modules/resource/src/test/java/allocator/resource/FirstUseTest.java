package allocator.resource;

import allocator.provider.support.BriefLock;
import allocator.spi.Allocator;
import allocator.testkit.OwnJvm;
import allocator.testkit.SmallHeap;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FirstUseTest {
    private static void run(String heap, String... arguments) throws Exception {
        OwnJvm.run(
                List.of(FirstUse.class, HostResource.class, Allocator.class, BriefLock.class, SmallHeap.class),
                FirstUse.class,
                List.of(heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"),
                arguments);
    }

    @ParameterizedTest
    @ValueSource(strings = {"host", "budget", "rejected", "request", "allocator"})
    void aCallCanBeRepeatedAfterTheHeapHasEndedInItsFirstUse(String resource) throws Exception {
        run("-Xmx20m", resource);
    }
}
