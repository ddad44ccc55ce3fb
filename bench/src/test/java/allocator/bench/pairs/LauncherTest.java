package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.subject.SubjectType;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LauncherTest {
    @Test
    void theCauseIsTheInnermostException() {
        assertEquals("it says nothing", Launcher.cause("\n \n"));
        assertEquals("killed", Launcher.cause("something\nkilled\n"));
        assertEquals(
                "Exception in thread \"main\" a.B: c",
                Launcher.cause("warning\nException in thread \"main\" a.B: c\n\tat d.E\n"));
        assertEquals(
                "f.G: h",
                Launcher.cause(
                        "Exception in thread \"main\" a.B: c\n\tat d.E\nCaused by: x\nCaused by: f.G: h\n\tat i\n"));
    }

    @Test
    void aLibraryThatCannotBeLoadedIsNamed(@TempDir Path folder) {
        final Path library = folder.resolve("no.so");

        final Exception e = assertThrows(
                Launcher.FailedException.class,
                () -> Launcher.withOwnModules()
                        .run(
                                List.of(),
                                Measurement.class,
                                SubjectType.JEMALLOC,
                                library,
                                folder.resolve("output"),
                                List.of("jemalloc", "replay", "1", "1", "1", "0", "1", "1", "0")));
        assertTrue(String.valueOf(e.getMessage()).contains(library.toString()), e::getMessage);
    }
}
