package allocator.view;

import allocator.view.page.ShownText;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** Writes the data of a page. All text of a page passes here, and is written as the page shows it. */
final class ShownJson extends JsonGeneratorDelegate {
    private ShownJson(JsonGenerator target) {
        super(target);
    }

    /** Writes the fields of an object. */
    @FunctionalInterface
    interface Content {
        void write(ShownJson json) throws IOException;
    }

    /** Writes an element of an array. */
    @FunctionalInterface
    interface Element<T> {
        void write(T item) throws IOException;
    }

    /** Returns an object. */
    static String of(Content content) {
        final StringWriter text = new StringWriter();
        try (ShownJson json = new ShownJson(new JsonFactory().createGenerator(text))) {
            json.object(content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    @Override
    public void writeString(String text) throws IOException {
        super.writeString(ShownText.of(text));
    }

    void object(Content content) throws IOException {
        writeStartObject();
        content.write(this);
        writeEndObject();
    }

    void object(String name, Content content) throws IOException {
        writeFieldName(name);
        object(content);
    }

    <T> void array(String name, Iterable<T> items, Element<T> element) throws IOException {
        writeArrayFieldStart(name);
        for (final T item : items) {
            element.write(item);
        }
        writeEndArray();
    }

    /** Writes an array of texts and whole numbers. */
    void row(Object... values) throws IOException {
        writeStartArray();
        for (final Object value : values) {
            if (value instanceof String text) {
                writeString(text);
            } else {
                writeNumber(((Number) value).longValue());
            }
        }
        writeEndArray();
    }
}
