package allocator.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * A file that a command replaces atomically at its end. The target is checked first, so that a command does not fail
 * only after long work.
 */
final class OutputFile {
    private final String option;
    private final Path given;
    private final Path target;

    /**
     * Checks a target.
     *
     * @throws UsageException if no file can be written there
     */
    OutputFile(String option, Path given) {
        this.option = option;
        this.given = given;
        try {
            target = Files.isSymbolicLink(given) && Files.exists(given) ? given.toRealPath() : given.toAbsolutePath();
        } catch (IOException e) {
            throw new UsageException(option + " " + given + ": " + reason(e), e);
        }
        final Path folder = target.getParent();
        if (Files.isDirectory(target)) {
            throw new UsageException(option + " " + given + ": is a directory");
        }
        if (folder == null || !Files.isDirectory(folder)) {
            throw new UsageException(option + " " + given + ": the folder does not exist");
        }
        if (!Files.isWritable(Files.exists(target) ? target : folder)) {
            throw new UsageException(option + " " + given + ": permission denied");
        }
    }

    /**
     * Writes the file.
     *
     * @throws CommandException if that fails; the target is unchanged
     */
    void write(String text) {
        final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try {
            if (Files.exists(target) && !Files.isRegularFile(target)) {
                // A pipe or a device: there is nothing that could be replaced.
                Files.write(target, bytes);
            } else {
                replace(bytes);
            }
        } catch (IOException e) {
            throw new CommandException(option + " " + given + ": " + reason(e), e);
        }
    }

    private void replace(byte[] bytes) throws IOException {
        final Path part = target.resolveSibling(
                target.getFileName() + "." + ProcessHandle.current().pid() + ".part");
        try {
            Files.write(part, bytes);
            Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    Path path() {
        return given;
    }

    private static String reason(IOException e) {
        if (e instanceof FileSystemException file && file.getReason() != null) {
            return file.getReason();
        }
        return "cannot be written (" + e.getClass().getSimpleName() + ")";
    }
}
