package allocator.resource;

import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.testkit.OwnJvm;
import allocator.testkit.StackEnds;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Calls at every distance from the end of a thread's stack: what overflows has changed nothing, and no lock stays. */
class StackEndTest {
    @Test
    void aCallThatOverflowsChangesNothing() throws Exception {
        run(StackEnds.INTERPRETED);
    }

    /** Frames are smaller, and other calls are the last ones. */
    @Test
    void norDoesItWhereCodeIsCompiled() throws Exception {
        run(List.of("-Xcomp", "-XX:TieredStopAtLevel=1"), "compiled");
    }

    private static void run(List<String> options, String... arguments) throws Exception {
        OwnJvm.run(
                List.of(EachEnd.class, HostResource.class, Allocator.class, StackReserve.class, StackEnds.class),
                EachEnd.class,
                options,
                arguments);
    }
}
