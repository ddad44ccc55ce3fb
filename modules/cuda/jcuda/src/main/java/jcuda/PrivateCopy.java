package jcuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * A file in a new directory with a random name, which only its owner can access; closing deletes both.
 *
 * @param file the copy
 */
record PrivateCopy(Path file) implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    static PrivateCopy of(InputStream content, String fileName) throws IOException {
        final Path directory = Files.createTempDirectory("jcuda-", OWNER_ONLY);
        final PrivateCopy copy = new PrivateCopy(directory.resolve(fileName));
        try {
            Files.copy(content, copy.file);
            return copy;
        } catch (IOException | RuntimeException e) {
            try {
                copy.close();
            } catch (IOException suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
    }

    /** On Linux a loaded library stays mapped when its file is deleted. */
    @Override
    public void close() throws IOException {
        Files.deleteIfExists(file);
        Files.deleteIfExists(file.toAbsolutePath().getParent());
    }
}
