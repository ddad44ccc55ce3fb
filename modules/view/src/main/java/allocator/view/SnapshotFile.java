package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Reads the snapshots that {@code allocator.runtime.snapshot.SnapshotJson} writes. */
public final class SnapshotFile {
    /** How much white space may precede it. */
    private static final int MOST_BEFORE = 1 << 16;

    /** Its bytes, as they read in ISO 8859-1. */
    private static final String BYTE_ORDER_MARK = "\u00ef\u00bb\u00bf";

    private SnapshotFile() {}

    /**
     * {@return whether a file begins as a snapshot does, with an opening brace; {@code false} if it cannot be read} A
     * trace does not. A byte order mark before it does not matter.
     *
     * @param file the file
     */
    public static boolean looksLikeOne(Path file) {
        try (var in = Files.newInputStream(file)) {
            final String start = new String(in.readNBytes(MOST_BEFORE), StandardCharsets.ISO_8859_1);
            final String text = start.startsWith(BYTE_ORDER_MARK) ? start.substring(BYTE_ORDER_MARK.length()) : start;
            return text.stripLeading().startsWith("{");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * {@return the snapshot of a file} Fields that this version does not know are ignored.
     *
     * @param file the file
     * @throws SnapshotException if the file cannot be read, is not a snapshot, is truncated or has impossible values,
     *     or its version is greater than this reader's
     */
    public static Snapshot read(Path file) throws SnapshotException {
        try (JsonParser json = new JsonFactory().createParser(Files.newInputStream(file))) {
            return read(file.toString(), json);
        } catch (SnapshotException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new SnapshotException(file.toString(), "no such file", e);
        } catch (AccessDeniedException e) {
            throw new SnapshotException(file.toString(), "permission denied", e);
        } catch (IOException e) {
            throw new SnapshotException(file.toString(), "cannot be read: " + e.getMessage(), e);
        }
    }

    private static Snapshot read(String file, JsonParser json) throws IOException {
        try {
            return new SnapshotParser(file, json).read();
        } catch (InputCoercionException | StreamConstraintsException e) {
            throw new SnapshotException(
                    file,
                    "is damaged: a value is too large, too long or too deep"
                            + SnapshotTokens.place(json.currentLocation()),
                    e);
        } catch (JsonProcessingException e) {
            final boolean isCut =
                    e instanceof JsonEOFException || e.getOriginalMessage().startsWith("Unexpected end-of-input");
            throw new SnapshotException(
                    file,
                    (isCut ? "is cut off: it ends within the snapshot" : "is damaged: it is not JSON")
                            + SnapshotTokens.place(e.getLocation()) + "; copy it again",
                    e);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new SnapshotException(
                    file,
                    "has an impossible value before"
                            + SnapshotTokens.place(json.currentLocation()).replace(" at", "") + ": " + e.getMessage(),
                    e);
        }
    }
}
