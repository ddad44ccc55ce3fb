package allocator.release;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** Archives: the bundle, and the jars of samples. */
final class Zip {
    private Zip() {}

    static void unpack(Path archive, Path folder) throws IOException {
        try (ZipFile zip = new ZipFile(archive.toFile())) {
            for (final ZipEntry entry : zip.stream().toList()) {
                final Path file = folder.resolve(entry.getName()).normalize();
                if (!file.startsWith(folder)) {
                    throw new IOException(archive + " has an entry outside itself: " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(file);
                } else {
                    Files.createDirectories(file.getParent());
                    try (InputStream content = zip.getInputStream(entry)) {
                        Files.copy(content, file);
                    }
                }
            }
        }
    }

    /** Writes an archive of empty files. */
    static void pack(Path archive, List<String> names) throws IOException {
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(archive))) {
            for (final String name : names) {
                zip.putNextEntry(new ZipEntry(name));
                zip.closeEntry();
            }
        }
    }
}
