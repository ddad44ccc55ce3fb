package allocator.cli.output;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** Writes indented JSON of ASCII characters. */
public final class Json {
    /** Writes one value. */
    @FunctionalInterface
    public interface Content {
        /**
         * Writes the value.
         *
         * @param json receives the value
         * @throws IOException if it throws it
         */
        void write(JsonGenerator json) throws IOException;
    }

    private Json() {}
    /**
     * Returns a value as text.
     *
     * @param content writes the value
     * @return the text, with a line end
     */
    public static String write(Content content) {
        final StringWriter text = new StringWriter();
        final DefaultIndenter indenter = new DefaultIndenter("  ", "\n");
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.setPrettyPrinter(
                    new DefaultPrettyPrinter().withObjectIndenter(indenter).withArrayIndenter(indenter));
            // Some characters beyond ASCII control a terminal.
            json.setHighestNonEscapedChar('~');
            content.write(json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text + "\n";
    }
}
