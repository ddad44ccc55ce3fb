package allocator.cli.output;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
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

    /** {@return this object, with one more field} */
    public Json put(String name, @Nullable Object value) {
        fields.put(name, value);
        return this;
    }

    /** {@return this object, with one more array} */
    public <T> Json put(String name, List<T> items, Function<T, Json> element) {
        return put(name, items.stream().map(element).toList());
    }

    /**
     * {@return the object that a text holds; whole numbers are {@code Long}, others {@code Double}}
     *
     * @throws IOException if the text is no object
     */
    public static Json read(String text) throws IOException {
        try (JsonParser parser = new JsonFactory().createParser(text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("no object");
            }
            return readObject(parser);
        }
    }

    private static Json readObject(JsonParser parser) throws IOException {
        final Json object = new Json();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            final String name = parser.currentName();
            parser.nextToken();
            object.put(name, readValue(parser));
        }
        return object;
    }

    private static @Nullable Object readValue(JsonParser parser) throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> readObject(parser);
            case START_ARRAY -> {
                final List<@Nullable Object> values = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    values.add(readValue(parser));
                }
                yield values;
            }
            case VALUE_NUMBER_INT -> parser.getLongValue();
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            case VALUE_TRUE, VALUE_FALSE -> parser.getBooleanValue();
            case VALUE_NULL -> null;
            default -> parser.getText();
        };
    }

    /** {@return the values of the fields by name, in their order} */
    public Map<String, @Nullable Object> fields() {
        return Collections.unmodifiableMap(fields);
    }

    /** {@return a whole number; -1 if there is none} */
    public long number(String name) {
        return fields.get(name) instanceof Number number ? number.longValue() : -1;
    }

    /** {@return a text; empty if there is none} */
    public String text(String name) {
        return fields.get(name) instanceof String text ? text : "";
    }

    /** {@return the objects of an array; none if there is no array} */
    public List<Json> objects(String name) {
        return fields.get(name) instanceof List<?> values
                ? values.stream().map(Json.class::cast).toList()
                : List.of();
    }

    /** {@return a value as indented text of ASCII characters, with a line end} */
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
