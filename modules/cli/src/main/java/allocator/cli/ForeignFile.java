package allocator.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/**
 * Recognizes a file that is not what a command reads, by its beginning, and says what can be done with it. A trace, a
 * log, and what is not known, is none of them.
 */
final class ForeignFile {
    private static final int GZIP_1 = 0x1f;
    private static final int GZIP_2 = 0x8b;
    private static final int PICKLE = 0x80;
    private static final int MOST_READ = 512;
    private static final List<String> COLUMNS_OF_BLOCKS = List.of("id", "lower", "upper", "size");

    /** A byte order mark, as its bytes read in ISO 8859-1. */
    private static final String MARK = "\u00ef\u00bb\u00bf";

    private ForeignFile() {}

    /**
     * Says what a file is that is given in place of a trace or a log, and what to do with it; empty if it may be one of
     * them, or cannot be read.
     */
    static Optional<String> describe(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            final byte[] start = in.readNBytes(MOST_READ);
            if (isGzip(start)) {
                try (InputStream unpacked = new GZIPInputStream(Files.newInputStream(file))) {
                    return kind(unpacked.readNBytes(MOST_READ))
                            .map(kind -> "is " + kind.name + ", compressed: unpack it first");
                }
            }
            return kind(start).map(kind -> "is " + kind.name + ": " + kind.advice);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Rejects a file that is something else than a trace or a log, and says what it is. */
    static void reject(Path file) {
        describe(file).ifPresent(what -> {
            throw new CommandException(file + ": " + what);
        });
    }

    private enum Kind {
        RECORDING(
                "a recording of the flight recorder",
                "allocator show shows it, and allocator trace import makes a trace of it"),
        CUT_RECORDING("the beginning of a recording of the flight recorder", "copy it again"),
        JSON("JSON, as a snapshot is", "allocator show shows a snapshot"),
        JSON_ARRAY("an array in JSON", "a snapshot is an object in JSON"),
        PAGE("a page", "open it in a browser"),
        XML("XML", "no command reads it"),
        PICKLED("a pickle of Python, as snapshots of PyTorch are", "PyTorch's viewer memory_viz shows it"),
        ARCHIVE("an archive", "unpack it first"),
        BLOCKS("a file of blocks", "allocator plan reads it, and with --html makes a page"),
        UNREADABLE_BLOCKS(
                "like a file of blocks",
                "its header must be id,lower,upper,size, in lower case, without quotes and blanks, for allocator plan");

        private final String name;
        private final String advice;

        Kind(String name, String advice) {
            this.name = name;
            this.advice = advice;
        }
    }

    private static boolean isGzip(byte[] start) {
        return start.length > 1 && (start[0] & 0xff) == GZIP_1 && (start[1] & 0xff) == GZIP_2;
    }

    private static Optional<Kind> kind(byte[] start) {
        final String bytes = new String(start, StandardCharsets.ISO_8859_1);
        final String text = (bytes.startsWith(MARK) ? bytes.substring(MARK.length()) : bytes).stripLeading();
        if (bytes.startsWith("FLR\0")) {
            return Optional.of(Kind.RECORDING);
        }
        if (bytes.equals("FLR")) {
            return Optional.of(Kind.CUT_RECORDING);
        }
        if (text.startsWith("{")) {
            return Optional.of(Kind.JSON);
        }
        if (text.startsWith("[")) {
            return Optional.of(Kind.JSON_ARRAY);
        }
        if (text.startsWith("<")) {
            final String tag = text.toLowerCase(Locale.ROOT);
            return Optional.of(tag.startsWith("<!doctype html") || tag.startsWith("<html") ? Kind.PAGE : Kind.XML);
        }
        if (bytes.length() > 1 && bytes.charAt(0) == PICKLE && bytes.charAt(1) > 1 && bytes.charAt(1) < 6) {
            return Optional.of(Kind.PICKLED);
        }
        if (bytes.startsWith("PK\3\4")) {
            return Optional.of(Kind.ARCHIVE);
        }
        return blocks(text.lines().findFirst().orElse(""));
    }

    private static Optional<Kind> blocks(String header) {
        if (List.of(header.split(",", -1)).containsAll(COLUMNS_OF_BLOCKS)) {
            return Optional.of(Kind.BLOCKS);
        }
        final String plain =
                header.toLowerCase(Locale.ROOT).replaceAll("[\" \t]", "").replace(';', ',');
        return List.of(plain.split(",", -1)).containsAll(COLUMNS_OF_BLOCKS)
                ? Optional.of(Kind.UNREADABLE_BLOCKS)
                : Optional.empty();
    }
}
