package allocator.cli.providers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The folder of an installed command where users put jars of providers. The launcher names it in a system property. */
public final class InstalledProviders {
    /** The system property. Without it there is no such folder. */
    public static final String PROPERTY = "allocator.providers";

    private InstalledProviders() {}

    /**
     * {@return the folder, if there is a jar in it}
     *
     * @throws UncheckedIOException if it cannot be read
     */
    public static Optional<Path> folder() {
        final String name = System.getProperty(PROPERTY, "");
        return name.isEmpty() ? Optional.empty() : Optional.of(Path.of(name)).filter(InstalledProviders::hasJar);
    }

    private static boolean hasJar(Path folder) {
        if (!Files.isDirectory(folder)) {
            return false;
        }
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(folder, "*.jar")) {
            return jars.iterator().hasNext();
        } catch (IOException e) {
            throw new UncheckedIOException(folder + ": cannot be read: " + e.getMessage(), e);
        }
    }
}
