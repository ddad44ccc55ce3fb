package allocator.runtime.inspection;

import allocator.spi.InvalidOptionException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** An option whose value is the path of a directory, which need not exist. */
public final class DirectoryOption {
    private DirectoryOption() {}

    /**
     * Checks a value.
     *
     * @param key the option
     * @param value its value
     * @param origin where it was set, for the message
     * @throws InvalidOptionException if it is blank, or no path
     */
    public static void requirePath(String key, String value, String origin) {
        boolean isPath = !value.isBlank();
        try {
            isPath &= Path.of(value).getNameCount() >= 0;
        } catch (InvalidPathException e) {
            isPath = false;
        }
        if (!isPath) {
            throw new InvalidOptionException(key, value, "the path of a directory", origin);
        }
    }
}
