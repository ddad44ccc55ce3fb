package allocator.conformance.runner.output;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Writes files that are whole or not there: the text goes to a file beside the target, which is then renamed. Whatever
 * fails, the target is as before and nothing is left beside it.
 */
public final class WholeFile {
    /** Room for a page: a disk that is full is found before the work. */
    private static final byte[] PROBE = new byte[4096];

    private WholeFile() {}

    /**
     * Checks that a file can be written, by writing one beside it and deleting that.
     *
     * @param target a file, which may exist
     * @throws IOException if not
     */
    public static void check(Path target) throws IOException {
        if (Files.isDirectory(target)) {
            throw new FileSystemException(target.toString(), null, target.getFileName() + " is a folder");
        }
        final Path part = part(target);
        try {
            Files.write(part, PROBE, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    /**
     * Writes a file.
     *
     * @param target the file; replaced if it exists
     * @param text its content
     * @throws IOException if that fails
     */
    public static void write(Path target, String text) throws IOException {
        write(target, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Writes a file.
     *
     * @param target the file; replaced if it exists
     * @param content its content
     * @throws IOException if that fails
     */
    public static void write(Path target, byte[] content) throws IOException {
        final Path part = part(target);
        try {
            Files.write(part, content, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private static Path part(Path target) {
        return target.resolveSibling(
                target.getFileName() + "." + ProcessHandle.current().pid() + ".part");
    }

    /**
     * {@return the reason in words why a file cannot be written, without the file}
     *
     * @param failure what was thrown
     */
    public static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "the folder does not exist";
            case AccessDeniedException _ -> "permission denied";
            case NotDirectoryException _ -> "the folder is a file";
            case FileAlreadyExistsException _ -> "there is a file in its place";
            case FileSystemException e when e.getReason() != null -> e.getReason();
            default ->
                "it cannot be written: "
                        + (failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage());
        };
    }
}
