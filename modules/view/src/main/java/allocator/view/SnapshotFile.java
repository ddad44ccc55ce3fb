package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads the snapshots that {@code allocator.runtime.snapshot.SnapshotJson} writes. */
public final class SnapshotFile {
    private SnapshotFile() {}

    /**
     * Returns whether a file begins as a snapshot does, with an opening brace; a trace does not.
     *
     * @param file the file
     * @return whether it does; {@code false} if it cannot be read
     */
    public static boolean looksLikeOne(Path file) {
        try (var in = Files.newInputStream(file)) {
            int first = in.read();
            while (first == ' ' || first == '\n' || first == '\r' || first == '\t') {
                first = in.read();
            }
            return first == '{';
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Reads a snapshot. Fields that this version does not know are ignored.
     *
     * @param file the file
     * @return the snapshot
     * @throws SnapshotException if the file cannot be read, is not a snapshot, is truncated or has impossible values,
     *     or its version is greater than this reader's
     */
    public static Snapshot read(Path file) throws SnapshotException {
        try (JsonParser json = new JsonFactory().createParser(Files.newInputStream(file))) {
            return new SnapshotParser(file.toString(), json).read();
        } catch (SnapshotException e) {
            throw e;
        } catch (JsonProcessingException e) {
            throw new SnapshotException(
                    file.toString(), "is not a whole snapshot: " + e.getOriginalMessage() + place(e.getLocation()), e);
        } catch (NoSuchFileException e) {
            throw new SnapshotException(file.toString(), "no such file", e);
        } catch (AccessDeniedException e) {
            throw new SnapshotException(file.toString(), "permission denied", e);
        } catch (IOException e) {
            throw new SnapshotException(file.toString(), "cannot be read: " + e.getMessage(), e);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new SnapshotException(file.toString(), "has an impossible value: " + e.getMessage(), e);
        }
    }

    private static String place(@Nullable JsonLocation location) {
        return location == null ? "" : " at line " + location.getLineNr() + ", column " + location.getColumnNr();
    }
}
