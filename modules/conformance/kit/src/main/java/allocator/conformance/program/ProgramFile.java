package allocator.conformance.program;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** A file with a program of calls, as the kit prints it. */
public final class ProgramFile {
    private ProgramFile() {}

    /**
     * Reads a program.
     *
     * @param file the file
     * @throws IllegalArgumentException if the file cannot be read, or is no program
     */
    public static Program read(Path file) {
        try {
            return Program.parse(Files.readAllLines(file));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
        } catch (IOException e) {
            throw new IllegalArgumentException(file + " cannot be read: " + reason(e), e);
        }
    }

    /**
     * {@return the reason in words why a file cannot be used, without the file}
     *
     * @param failure what was thrown
     */
    public static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "there is no such file";
            case AccessDeniedException _ -> "access is denied";
            case FileAlreadyExistsException _ -> "there is a file in its place";
            case CharacterCodingException _ -> "it is not text";
            case FileSystemException e when e.getReason() != null -> e.getReason();
            case IOException e when e.getClass() == IOException.class && e.getMessage() != null -> e.getMessage();
            default -> failure.toString();
        };
    }
}
