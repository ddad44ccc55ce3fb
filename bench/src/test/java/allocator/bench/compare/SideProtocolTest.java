package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SideProtocolTest {
    @Nested
    class Offers {
        private final SideProtocol.Offer offer = new SideProtocol.Offer(List.of("arena", "bridge"), List.of("large"));

        @Test
        void anOfferIsPrintedAsLinesOfKeyAndName() {
            assertEquals("bench-side 1\nsubject arena\nsubject bridge\nworkload large\n", SideProtocol.toText(offer));
        }

        @Test
        void aPrintedOfferIsReadBack() throws SideFailedException {
            assertEquals(
                    offer,
                    SideProtocol.parseOffer(SideProtocol.toText(offer).lines().toList()));
        }

        @Test
        void otherLinesAreIgnored() throws SideFailedException {
            assertEquals(
                    offer,
                    SideProtocol.parseOffer(List.of(
                            "VM warning: sorry",
                            "bench-side 1",
                            "subject arena",
                            "subjects are two",
                            "subject bridge",
                            "workload large")));
        }

        @ParameterizedTest
        @ValueSource(strings = {"bench-side 2", "bench-side", "subject arena"})
        void anotherVersionIsRejected(String first) {
            final Exception e = assertThrows(
                    SideFailedException.class,
                    () -> SideProtocol.parseOffer(List.of(first, "subject arena", "workload large")));

            assertEquals("its bench/side does not print 'bench-side 1'", e.getMessage());
        }
    }

    @Nested
    class Times {
        @Test
        void aTimeIsPrintedWithAPointInEveryLanguage() {
            assertEquals("nanos 1234.5000", SideProtocol.toLine(1234.5));
        }

        @Test
        void aPrintedTimeIsReadBack() throws SideFailedException {
            assertEquals(93.25, SideProtocol.parseNanos(SideProtocol.toLine(93.25)));
        }

        @ParameterizedTest
        @ValueSource(
                strings = {"nanos", "nanos 0", "nanos -1", "nanos NaN", "nanos Infinity", "nanos 1,5", "nanos 1 2"})
        void anythingButANumberAboveZeroIsRejected(String line) {
            final Exception e = assertThrows(SideFailedException.class, () -> SideProtocol.parseNanos(line));

            assertEquals("its bench/side prints '" + line + "', which is not a time", e.getMessage());
        }
    }

    @Test
    void aKeyIsAWholeWord() {
        assertTrue(SideProtocol.isOf("ready", "ready"));
        assertTrue(SideProtocol.isOf("nanos", "nanos 1"));
        assertFalse(SideProtocol.isOf("nanos", "nanoseconds 1"));
    }
}
