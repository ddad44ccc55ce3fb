package allocator.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a command reads. A file is looked at before it is read, which a pipe or a device does not allow: what is no
 * regular file is read once, to a file that is deleted when the process ends.
 */
final class InputFile {
    /** The name of standard input. */
    private static final String STANDARD_INPUT = "-";

    /** What the user named, by the file that holds its content. */
    private static final Map<String, String> COPIES = new ConcurrentHashMap<>();

    private InputFile() {}

    /**
     * Returns the name of what can be read several times: the name itself, or that of a copy.
     *
     * @param name the name of a file, of a bundled trace, or {@code -}
     * @throws CommandException if it cannot be read
     */
    static String of(String name) {
        try {
            if (name.equals(STANDARD_INPUT)) {
                return copy(name, "standard-input", System.in);
            }
            final Path file = Path.of(name);
            if (name.isEmpty() || !Files.exists(file) || Files.isRegularFile(file) || Files.isDirectory(file)) {
                return name;
            }
            try (InputStream in = Files.newInputStream(file)) {
                return copy(name, file.getFileName().toString(), in);
            }
        } catch (InvalidPathException e) {
            return name; // the reader says so
        } catch (IOException e) {
            throw new CommandException(name + ": cannot be read: " + ErrorLine.text(e), e);
        }
    }

    private static String copy(String name, String fileName, InputStream in) throws IOException {
        final Path folder = Files.createTempDirectory("allocator");
        folder.toFile().deleteOnExit();
        final Path copy = folder.resolve(fileName);
        copy.toFile().deleteOnExit();
        Files.copy(in, copy);
        COPIES.put(copy.toString(), name);
        return copy.toString();
    }

    /** Returns a message with the names that the user gave in place of those of copies. */
    static String named(String message) {
        String text = message;
        for (final Map.Entry<String, String> copy : COPIES.entrySet()) {
            text = text.replace(copy.getKey(), copy.getValue());
        }
        return text;
    }

    /** Returns whether a file is a copy, beside which nothing is written. */
    static boolean isCopy(String name) {
        return COPIES.containsKey(name);
    }
}
