package allocator.view.recording;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;

/**
 * The chunks of a recording, by their headers: the reader of the JDK stops at the end of a truncated file as if it were
 * a whole one.
 *
 * <pre>
 *   bytes | 0..3       | 4..5  | 6..7  | 8..15             | 16..67
 *         | "FLR", 0   | major | minor | size of the chunk | offsets and times
 * </pre>
 */
final class RecordingChunks {
    static final int MAGIC = 0x464c5200;
    private static final int KNOWN_MAJOR = 2;
    private static final int HEADER_BYTES = 68;

    private RecordingChunks() {}

    /** Throws unless the file is a sequence of whole chunks. */
    static void check(Path path) throws IOException {
        final String name = path.toString();
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "r")) {
            final long length = file.length();
            if (length == 0) {
                throw new RecordingException(name, "is empty", null);
            }
            long at = 0;
            do {
                if (length - at < HEADER_BYTES) {
                    throw at == 0 && !begins(file)
                            ? new RecordingException(name, "is not a recording of the flight recorder", null)
                            : truncated(name, length);
                }
                file.seek(at);
                if (file.readInt() != MAGIC) {
                    throw new RecordingException(
                            name,
                            at == 0 ? "is not a recording of the flight recorder" : "is damaged at byte " + at,
                            null);
                }
                final int major = file.readUnsignedShort();
                if (major != KNOWN_MAJOR) {
                    throw new RecordingException(
                            name,
                            "has version " + major + " of the recorder's format, and this program reads " + KNOWN_MAJOR,
                            null);
                }
                file.readUnsignedShort();
                final long size = file.readLong();
                if (size < HEADER_BYTES || size > length - at) {
                    throw truncated(name, length);
                }
                at += size;
            } while (at < length);
        }
    }

    private static boolean begins(RandomAccessFile file) throws IOException {
        file.seek(0);
        return file.length() >= Integer.BYTES && file.readInt() == MAGIC;
    }

    private static RecordingException truncated(String name, long length) {
        return new RecordingException(
                name,
                "is truncated after " + length + " bytes, or still being written: copy it with jcmd PID JFR.dump",
                null);
    }
}
