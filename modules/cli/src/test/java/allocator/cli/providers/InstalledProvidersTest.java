package allocator.cli.providers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class InstalledProvidersTest {
    @TempDir
    private Path folder;

    @AfterEach
    void clear() {
        System.clearProperty(InstalledProviders.PROPERTY);
    }

    @Test
    void isAFolderWithAJar() throws IOException {
        assertThat(InstalledProviders.folder()).isEmpty();
        System.setProperty(InstalledProviders.PROPERTY, folder.resolve("none").toString());
        assertThat(InstalledProviders.folder()).isEmpty();
        System.setProperty(InstalledProviders.PROPERTY, folder.toString());
        Files.writeString(folder.resolve("README.md"), "");
        assertThat(InstalledProviders.folder()).isEmpty();
        Files.writeString(folder.resolve("provider.jar"), "");
        assertThat(InstalledProviders.folder()).contains(folder);
    }
}
