package allocator.conformance.runner.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WholeFileTest {
    @TempDir
    private Path folder;

    @Test
    void aFileIsReplaced() throws IOException {
        final Path file = Files.writeString(folder.resolve("x"), "before");
        WholeFile.write(file, "after");
        assertThat(file).hasContent("after");
        assertThat(folder.toFile().list()).containsExactly("x");
    }

    @Test
    void aCheckLeavesNothing() throws IOException {
        WholeFile.check(folder.resolve("x"));
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aFolderInItsPlaceIsFoundByTheCheck() throws IOException {
        final Path taken = Files.createDirectory(folder.resolve("x"));
        assertThatThrownBy(() -> WholeFile.check(taken))
                .isInstanceOfSatisfying(
                        IOException.class, e -> assertThat(WholeFile.reason(e)).isEqualTo("x is a folder"));
    }

    @Test
    void aFailureLeavesNothing() throws IOException {
        final Path full = Files.createDirectories(folder.resolve("x/y")).getParent();
        assertThatThrownBy(() -> WholeFile.write(full, "text")).isInstanceOf(IOException.class);
        assertThat(folder.toFile().list()).containsExactly("x");
    }

    @Test
    void aTextThatIsNotUnicodeIsWritten() throws IOException {
        WholeFile.write(folder.resolve("x"), "a\ud83d");
        assertThat(folder.resolve("x")).hasContent("a?");
    }
}
