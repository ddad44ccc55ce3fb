package allocator.runtime;

import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.testkit.OwnJvm;
import allocator.testkit.StackEnds;
import java.util.List;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class StackEndTest {
    /** Compiled while it runs, with frames of many sizes; a build makes each call at each end, interpreted. */
    @Test
    @Tag("thorough")
    void nothingIsLostWhereverTheStackEnds() throws Exception {
        run(StackEnd.class, List.of());
    }

    @Test
    void eachCallIsWholeAtEachEnd() throws Exception {
        run(EachEnd.class, StackEnds.INTERPRETED);
    }

    private static void run(Class<?> program, List<String> options) throws Exception {
        OwnJvm.run(
                List.of(
                        program,
                        Environment.class,
                        Allocator.class,
                        StackReserve.class,
                        StackEnds.class,
                        Assertions.class),
                program,
                options);
    }
}
