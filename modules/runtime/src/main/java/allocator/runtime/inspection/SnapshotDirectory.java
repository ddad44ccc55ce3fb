package allocator.runtime.inspection;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.SnapshotJson;
import java.io.BufferedWriter;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A directory of snapshots of one kind, {@code <prefix><time>-<process>.json}. A file appears whole or not at all. A
 * directory that holds {@value #MOST} of a kind gets no further one: the first ones say most. One thread at a time
 * writes snapshots of a kind, which the caller sees to.
 *
 * <p>Nothing is checked at first: what is wrong with a directory is known when the first snapshot is written.
 *
 * @param directory the directory, which is made if it does not exist
 * @param prefix how the names of files begin
 */
record SnapshotDirectory(Path directory, String prefix) {
    /** The most snapshots of a kind in a directory. */
    static final int MOST = 16;

    private static final String SUFFIX = ".json";
    private static final int MOST_ATTEMPTS = 100;
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS", Locale.ROOT).withZone(ZoneOffset.UTC);

    /**
     * Writes a snapshot. Returns the file; empty if the directory is full.
     *
     * @param taker takes it, unless the directory is full
     * @throws IOException if it cannot be written; no part of it is left unless the file system fails again
     */
    Optional<Path> write(Supplier<Snapshot> taker) throws IOException {
        Files.createDirectories(directory);
        if (count() >= MOST) {
            return Optional.empty();
        }
        final Snapshot snapshot = taker.get();
        final String name = name(snapshot.takenAt());
        final Path part = Files.createTempFile(directory, name + "-", ".part");
        try {
            // A channel would be closed by an interrupt of the thread.
            try (Writer out = new BufferedWriter(
                    new OutputStreamWriter(new FileOutputStream(part.toFile()), StandardCharsets.US_ASCII))) {
                SnapshotJson.write(snapshot, out);
            }
            return Optional.of(move(part, name));
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private String name(Instant time) {
        return prefix + TIME.format(time) + "-" + ProcessHandle.current().pid();
    }

    /** Gives a whole file its name, or one with a number if another snapshot was taken in the same millisecond. */
    private Path move(Path part, String name) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return Files.move(part, directory.resolve(name + (attempt == 1 ? "" : "-" + attempt) + SUFFIX));
            } catch (FileAlreadyExistsException e) {
                if (attempt == MOST_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private long count() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> String.valueOf(file.getFileName()))
                    .filter(name -> name.startsWith(prefix) && name.endsWith(SUFFIX))
                    .limit(MOST)
                    .count();
        }
    }

    @Override
    public String toString() {
        return directory.toString();
    }
}
