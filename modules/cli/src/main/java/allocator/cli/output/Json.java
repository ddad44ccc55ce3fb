package allocator.cli.output;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** An object of JSON. A value is text, a number, a truth value, {@code null}, an object, or a list of values. */
public final class Json {
    private final Map<String, @Nullable Object> fields = new LinkedHashMap<>();

    /** Creates an object without fields. */
    public Json() {}

    /**
     * Adds a field.
     *
     * @param name its name
     * @param value its value
     * @return this object
     */
    public Json put(String name, @Nullable Object value) {
        fields.put(name, value);
        return this;
    }

    /**
     * Adds an array.
     *
     * @param name its name
     * @param items what it is made of
     * @param element makes an element
     * @param <T> the type of the items
     * @return this object
     */
    public <T> Json put(String name, List<T> items, Function<T, Json> element) {
        return put(name, items.stream().map(element).toList());
    }

    /**
     * Returns a value as indented text of ASCII characters.
     *
     * @param value the value
     * @return the text, with a line end
     */
    public static String text(Object value) {
        final StringWriter text = new StringWriter();
        final DefaultIndenter indenter = new DefaultIndenter("  ", "\n");
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.setPrettyPrinter(
                    new DefaultPrettyPrinter().withObjectIndenter(indenter).withArrayIndenter(indenter));
            // Some characters beyond ASCII control a terminal.
            json.setHighestNonEscapedChar('~');
            write(json, value);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text + "\n";
    }

    private static void write(JsonGenerator json, @Nullable Object value) throws IOException {
        switch (value) {
            case Json object -> {
                json.writeStartObject();
                for (final Map.Entry<String, @Nullable Object> field : object.fields.entrySet()) {
                    json.writeFieldName(field.getKey());
                    write(json, field.getValue());
                }
                json.writeEndObject();
            }
            case List<?> array -> {
                json.writeStartArray();
                for (final Object element : array) {
                    write(json, element);
                }
                json.writeEndArray();
            }
            case null, default -> json.writePOJO(value);
        }
    }
}
