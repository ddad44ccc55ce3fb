package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.Console;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class SideTest {
    private final Console console = new Console();

    private List<String> run(String input, String... args) throws Exception {
        final InputStream in = new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8));
        Side.run(in, console.out(), args);
        return console.output().lines().toList();
    }

    @Test
    void listsWhatCanBeCompared() throws Exception {
        final SideProtocol.Offer offer = SideProtocol.parseOffer(run("", "list"));

        assertTrue(
                offer.subjects()
                        .containsAll(List.of(
                                "arena",
                                "arena-slabs",
                                "arena-compact",
                                "arena-streams",
                                "session",
                                "session-streams",
                                "bridge")),
                offer::toString);
        assertTrue(offer.workloads().containsAll(List.of("large", "replay", "small", "bert")), offer::toString);
    }

    @Test
    void measuresOneWindowForEachLine() throws Exception {
        final List<String> lines = run("window\nwindow\n", "measure", "arena", "replay", "2");

        assertEquals(List.of(SideProtocol.HEADER, SideProtocol.READY), lines.subList(0, 2));
        assertEquals(4, lines.size());
        assertTrue(SideProtocol.parseNanos(lines.get(2)) > 1, lines::toString);
        assertTrue(SideProtocol.parseNanos(lines.get(3)) > 1, lines::toString);
    }

    @Test
    void otherArgumentsAreRejected() {
        assertThrows(IllegalArgumentException.class, () -> run("", "measure", "arena", "replay"));
        assertThrows(IllegalArgumentException.class, () -> run("", "measure", "arenas", "replay", "1"));
        assertThrows(IllegalArgumentException.class, () -> run(""));
    }
}
