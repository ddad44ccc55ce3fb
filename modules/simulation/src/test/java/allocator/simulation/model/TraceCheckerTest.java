package allocator.simulation.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.simulation.model.TraceChecker.Claim;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The checker accepts what the model allows, and rejects the first event that breaks a claim. */
class TraceCheckerTest {
    private static List<String> events(String trace) {
        return List.of(trace.split("; ", -1));
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            a block in freed memory of its stream, allocate 4096 256 1; free 4096; allocate 4096 512 1
            a wait after the free, allocate 4096 256 1; free 4096; record 1 1; wait 2 1; allocate 4096 256 2
            a wait through a third stream, allocate 4096 256 1; free 4096; record 1 1; wait 3 1; record 3 2; wait 2 2; allocate 4096 256 2
            memory that the host waited for, allocate 4096 256 1; free 4096; record 1 1; wait 0 1; allocate 4096 256 2
            memory of a closed stream, allocate 4096 256 1; close 1; free 4096; allocate 4096 256 2
            a page that moves, take 1 4096; map 4096 1; map 16384 1; allocate 4096 256 0; unmap 16384; free 4096; unmap 4096; release 1; end
            weights that sleep, take 1 4096; map 4096 1; load 4096 4096; sleep 4096; unmap 4096; release 1; take 2 4096; map 4096 2; wake 4096
            weights on one page, take 1 8192; map 4096 1; load 4096 64; load 8192 64; share 4096 8192
            a failure that released a page, take 1 4096; begin; release 1; failed; end
            """)
    void whatTheModelAllowsIsAccepted(String name, String trace) {
        assertThatCode(() -> TraceChecker.check(events(trace))).as(name).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            two blocks at one address, OVERLAP, allocate 4096 256 1; allocate 4224 256 1
            two blocks on one page at two addresses, OVERLAP, take 1 4096; map 4096 1; map 16384 1; allocate 4096 256 1; allocate 16384 256 1
            a block that is freed twice, OVERLAP, allocate 4096 256 1; free 4096; free 4096
            a stream that has not waited, ORDER, allocate 4096 256 1; free 4096; allocate 4096 256 2
            a request without a stream, ORDER, allocate 4096 256 1; free 4096; allocate 4096 256 0
            an event before the free, ORDER, allocate 4096 256 1; record 1 1; free 4096; wait 2 1; allocate 4096 256 2
            a wait the other way, ORDER, allocate 4096 256 1; free 4096; record 2 1; wait 1 1; allocate 4096 256 2
            a part of a merged block, ORDER, allocate 4096 256 1; allocate 4352 256 2; free 4096; free 4352; allocate 4096 512 1
            one page at another address, ORDER, take 1 4096; map 4096 1; map 16384 1; allocate 4096 256 1; free 4096; allocate 16384 256 2
            a mapping below a live block, UNMAP, take 1 4096; map 4096 1; allocate 4096 256 0; unmap 4096
            a mapping whose work may run, UNMAP, take 1 4096; map 4096 1; allocate 4096 256 1; free 4096; record 1 1; wait 2 1; unmap 4096
            a mapping whose earlier work may run, UNMAP, take 1 4096; map 4096 1; allocate 4096 256 1; free 4096; record 1 1; wait 2 1; allocate 4096 256 2; free 4096; record 3 2; wait 0 2; unmap 4096
            more pages than the limit, LIMIT, limit 8192; take 1 4096; take 2 4096; take 3 4096
            a failure that keeps a page, FAILURE, begin; take 1 4096; failed
            a page that is released twice, RELEASE, take 1 4096; release 1; release 1
            a page that is released while mapped, RELEASE, take 1 4096; map 4096 1; release 1
            a page that stays, LOST, take 1 4096; end
            weights that another owner may read, ALIAS, take 1 8192; map 4096 1; load 4096 64; load 8192 64; share 4096 8192; write 8192
            weights that wake without a page, CONTENTS, take 1 4096; map 4096 1; load 4096 4096; sleep 4096; unmap 4096; release 1; wake 4096
            a block where nothing is mapped, CONTENTS, take 1 4096; map 4096 1; allocate 4096 4097 0
            """)
    void theLastEventIsRejected(String name, Claim claim, String trace) {
        final List<String> events = events(trace);
        assertThatCode(() -> TraceChecker.check(events.subList(0, events.size() - 1)))
                .doesNotThrowAnyException();
        assertThatThrownBy(() -> TraceChecker.check(events))
                .as(name)
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith(
                        claim + " does not hold at event " + events.size() + ", \"" + events.getLast() + "\": ");
    }

    @Test
    void theClaimsAreThoseOfTheModel() throws IOException {
        final String model = Files.readString(Path.of("src/test/model/allocator.pml"));
        for (final Claim claim : Claim.values()) {
            assertThat(model).contains("/* " + claim + " */");
        }
    }
}
