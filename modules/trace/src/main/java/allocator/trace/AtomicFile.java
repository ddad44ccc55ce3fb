package allocator.trace;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * A file that is replaced atomically: the bytes go to a temporary file beside it, which is renamed once everything is
 * written. A process that is killed leaves the temporary file, named after the target and ending in {@code .part}, and
 * does not change the target.
 */
final class AtomicFile {
    /** What the name of an unfinished file ends in. */
    static final String PART = ".part";

    private final Path target;
    private final Path part;
    private final OutputStream out;

    AtomicFile(Path target) throws IOException {
        if (target.toString().isEmpty()) {
            throw new FileSystemException("''", null, "the name is empty");
        }
        this.target = Files.isSymbolicLink(target) ? target.toRealPath() : target.toAbsolutePath();
        if (Files.exists(this.target) && !Files.isRegularFile(this.target)) {
            throw new FileSystemException(target.toString(), null, "is not a regular file");
        }
        part = this.target.resolveSibling(this.target.getFileName() + "."
                + ProcessHandle.current().pid() + "-" + Long.toHexString(System.nanoTime()) + PART);
        out = Files.newOutputStream(part, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    OutputStream out() {
        return out;
    }

    /** Renames the temporary file to the target; the stream must be closed. */
    void commit() throws IOException {
        try {
            Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            Files.deleteIfExists(part);
            throw e;
        }
    }

    /** Deletes the temporary file. */
    void discard() throws IOException {
        try {
            out.close();
        } finally {
            Files.deleteIfExists(part);
        }
    }
}
