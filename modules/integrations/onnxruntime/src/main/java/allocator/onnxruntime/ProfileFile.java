package allocator.onnxruntime;

import allocator.provider.support.internal.Failures;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The folder of ONNX Runtime's profile of one session, and how that profile is read. */
final class ProfileFile {
    private static final System.Logger LOG = System.getLogger(ProfileFile.class.getName());

    private static final String RUN = "model_run";
    private static final String KERNEL = "_kernel_time";

    /** ONNX Runtime writes names as they are. */
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER)
            .enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
            .build();

    /** The name and type of an operator whose event cannot be read. */
    static final String UNREADABLE = "?";

    private final Path folder;

    /** Makes a folder for temporary files. */
    ProfileFile() {
        try {
            folder = Files.createTempDirectory(
                    "allocator-profile-" + ProcessHandle.current().pid() + "-");
        } catch (IOException e) {
            throw new UncheckedIOException("ONNX Runtime's profile needs a folder for temporary files", e);
        }
    }

    /** What every profile's file of the session begins with. */
    String prefix() {
        return folder.resolve("profile").toString();
    }

    /**
     * A span of time in which a thread ran an operator, or a whole run.
     *
     * @param node the operator's name, empty for a whole run
     * @param operator its type
     * @param thread the thread's number in the system
     * @param begin when it began, in nanoseconds of the profile's clock; at most a microsecond too early
     * @param end when it ended, at most two microseconds too late
     */
    record Span(String node, String operator, long thread, long begin, long end) {
        boolean contains(long nanos) {
            return begin <= nanos && nanos < end;
        }
    }

    /**
     * Reads a profile. Of an operator with a quote in its name, name and type are {@link #UNREADABLE}.
     *
     * @param start when the profile began, in nanoseconds
     */
    static List<Span> read(Path file, long start) throws IOException {
        final List<Span> spans = new ArrayList<>();
        for (final String line : Files.readAllLines(file)) {
            try (JsonParser event = JSON.createParser(line)) {
                final Span span = event.nextToken() == JsonToken.START_OBJECT ? span(event, start) : null;
                if (span != null) {
                    spans.add(span);
                }
            } catch (IOException e) {
                // What its operator allocates is unknown.
            }
        }
        return spans;
    }

    private static @Nullable Span span(JsonParser event, long start) throws IOException {
        String category = "";
        String name = "";
        String operator = "";
        long thread = 0;
        long begin = 0;
        long micros = 0;
        try {
            while (event.nextToken() != JsonToken.END_OBJECT
                    || !event.getParsingContext().inRoot()) {
                if (event.currentToken() != JsonToken.FIELD_NAME) {
                    continue;
                }
                final String key = event.currentName();
                final JsonToken value = event.nextToken();
                switch (key) {
                    case "cat" -> category = event.getText();
                    case "name" -> name = event.getText();
                    case "op_name" -> operator = event.getText();
                    case "tid" -> thread = event.getLongValue();
                    case "ts" -> begin = start + 1000 * event.getLongValue();
                    case "dur" -> micros = event.getLongValue();
                    default -> {
                        if (!key.equals("args") || value != JsonToken.START_OBJECT) {
                            event.skipChildren();
                        }
                    }
                }
            }
        } catch (IOException e) {
            if (!category.equals("Node")) {
                throw e;
            }
            // Its times come before its name.
            return new Span(UNREADABLE, UNREADABLE, thread, begin, begin + 1000 * (micros + 2));
        }
        return name.equals(RUN) || name.endsWith(KERNEL)
                ? new Span(
                        name.equals(RUN) ? "" : name.substring(0, name.length() - KERNEL.length()),
                        operator,
                        thread,
                        begin,
                        begin + 1000 * (micros + 2))
                : null;
    }

    /** Deletes the folder, if it is there. Throws nothing: a failure is logged. */
    void delete() {
        try {
            if (Files.exists(folder)) {
                try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
                    for (final Path file : files) {
                        Files.delete(file);
                    }
                }
                Files.delete(folder);
            }
        } catch (IOException | RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "{0} cannot be deleted: {1}", folder, Failures.describe(e));
        }
    }
}
