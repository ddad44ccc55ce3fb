package allocator.cli;

import allocator.conformance.runner.output.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file that a command replaces atomically at its end. It is checked first, by writing a page beside it, so that a
 * command does not fail only after long work.
 */
final class OutputFile {
    private final String option;
    private final Path given;
    private final Path target;

    /**
     * Checks a target.
     *
     * @throws UsageException if it cannot be a file, or may not be written
     * @throws CommandException if no file can be written there, for instance because the disk is full
     */
    OutputFile(String option, Path given) {
        this.option = option;
        this.given = given;
        if (given.toString().isEmpty()) {
            throw new UsageException(option + ": the name is empty");
        }
        try {
            target = Files.isSymbolicLink(given) && Files.exists(given) ? given.toRealPath() : given.toAbsolutePath();
        } catch (IOException e) {
            throw new UsageException(message(WholeFile.reason(e)), e);
        }
        final Path folder = target.getParent();
        if (Files.isDirectory(target)) {
            throw new UsageException(message("is a directory"));
        }
        if (folder == null || !Files.isDirectory(folder)) {
            throw new UsageException(message("the folder does not exist"));
        }
        if (!Files.isWritable(Files.exists(target) ? target : folder)) {
            throw new UsageException(message("permission denied"));
        }
        if (isReplaced()) {
            checkFile();
        }
    }

    /** Checks that another option of the command does not name the same file. */
    void requireOther(OutputFile other) {
        if (target.equals(other.target) && isReplaced()) {
            throw new UsageException(message(other.option + " names the same file"));
        }
    }

    /** Checks that this is not a file that the command reads. */
    void requireNot(Path input) {
        try {
            if (Files.exists(target) && Files.exists(input) && Files.isSameFile(target, input)) {
                throw new UsageException(message("is the file that is read"));
            }
        } catch (IOException e) {
            throw new UsageException(message(WholeFile.reason(e)), e);
        }
    }

    private void checkFile() {
        try {
            WholeFile.check(target);
        } catch (AccessDeniedException e) {
            throw new UsageException(message(WholeFile.reason(e)), e);
        } catch (IOException e) {
            throw new CommandException(message(WholeFile.reason(e)), e);
        }
    }

    /** Returns whether a file is there or nothing. In a pipe or a device there is nothing that could be replaced. */
    private boolean isReplaced() {
        return !Files.exists(target) || Files.isRegularFile(target);
    }

    private String message(String reason) {
        return option + " " + given + ": " + reason;
    }

    /** Writes the file, or throws and leaves the target unchanged. */
    void write(String text) {
        write(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Writes the file, or throws and leaves the target unchanged. */
    void write(byte[] content) {
        try {
            if (isReplaced()) {
                WholeFile.write(target, content);
            } else {
                Files.write(target, content);
            }
        } catch (IOException e) {
            throw new CommandException(message(WholeFile.reason(e)), e);
        }
    }

    Path path() {
        return given;
    }
}
