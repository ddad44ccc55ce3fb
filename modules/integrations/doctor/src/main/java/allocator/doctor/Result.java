package allocator.doctor;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Results: maps of names to texts, numbers, truth values, lists and maps. */
final class Result {
    private Result() {}

    /** Returns a map of names and values in turn, in their order. */
    static Map<String, Object> of(Object... namesAndValues) {
        final Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            result.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return result;
    }

    /** Returns a result as JSON of ASCII characters. */
    static String text(Object result) throws IOException {
        final StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.setHighestNonEscapedChar('~');
            write(json, result);
        }
        return text.toString();
    }

    private static void write(JsonGenerator json, Object value) throws IOException {
        switch (value) {
            case Map<?, ?> fields -> {
                json.writeStartObject();
                for (final Map.Entry<?, ?> field : fields.entrySet()) {
                    json.writeFieldName((String) field.getKey());
                    write(json, field.getValue());
                }
                json.writeEndObject();
            }
            case List<?> values -> {
                json.writeStartArray();
                for (final Object element : values) {
                    write(json, element);
                }
                json.writeEndArray();
            }
            default -> json.writePOJO(value);
        }
    }
}
