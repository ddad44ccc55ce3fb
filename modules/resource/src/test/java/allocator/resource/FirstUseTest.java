package allocator.resource;

import allocator.provider.support.internal.BriefLock;
import allocator.spi.Allocator;
import allocator.testkit.OwnJvm;
import allocator.testkit.SmallHeap;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FirstUseTest {
    private static void run(String resource) throws Exception {
        OwnJvm.run(
                List.of(FirstUse.class, HostResource.class, Allocator.class, BriefLock.class, SmallHeap.class),
                FirstUse.class,
                List.of("-Xmx20m", "--enable-native-access=ALL-UNNAMED"),
                resource);
    }

    @Test
    void aCallCanBeRepeatedAfterTheHeapHasEndedInItsFirstUse() throws Exception {
        run("host");
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(strings = {"allocator", "budget", "rejected", "request"})
    void aCallOfAnotherResourceCanBeRepeatedToo(String resource) throws Exception {
        run(resource);
    }
}
