package allocator.view;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The tokens of a snapshot's JSON: what is missing or wrong is reported with the file. */
final class SnapshotTokens {
    private final String file;
    private final JsonParser json;

    /** Reads the value of a field; the parser is at its first token. */
    @FunctionalInterface
    interface FieldReader {
        void read(String name) throws IOException;
    }

    /** Reads an element of an array; the parser is at its first token. */
    @FunctionalInterface
    interface ElementReader {
        void read() throws IOException;
    }

    SnapshotTokens(String file, JsonParser json) {
        this.file = file;
        this.json = json;
    }

    SnapshotException error(String reason) {
        return error(reason, null);
    }

    SnapshotException error(String reason, @Nullable Throwable cause) {
        return new SnapshotException(file, reason, cause);
    }

    /** Reads an object, of which the first token is the current one. */
    void fields(FieldReader reader) throws IOException {
        require(JsonToken.START_OBJECT);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final String name = json.currentName();
            json.nextToken();
            reader.read(name);
        }
        require(JsonToken.END_OBJECT);
    }

    /** Reads an object of numbers and texts; its other fields are skipped. */
    Scalars scalars() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        return values;
    }

    /** Reads a number or a text; anything else is skipped. */
    void scalar(String name, Scalars values) throws IOException {
        switch (json.currentToken()) {
            case VALUE_NUMBER_INT -> values.put(name, json.getLongValue());
            case VALUE_STRING -> values.put(name, json.getText());
            case VALUE_TRUE -> values.put(name, 1L);
            case VALUE_FALSE -> values.put(name, 0L);
            default -> json.skipChildren();
        }
    }

    /** Reads an array, of which the first token is the current one. */
    void elements(ElementReader reader) throws IOException {
        require(JsonToken.START_ARRAY);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            reader.read();
        }
    }

    /** Reads the next token as a whole number. */
    long wholeNumber() throws IOException {
        json.nextToken();
        require(JsonToken.VALUE_NUMBER_INT);
        return json.getLongValue();
    }

    /** Skips what is left of an array. */
    void skipRest() throws IOException {
        while (json.nextToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
        }
    }

    void require(JsonToken token) throws SnapshotException {
        if (json.currentToken() != token) {
            throw error("is not a whole snapshot: " + token + " is missing at line "
                    + json.currentLocation().getLineNr() + ", column "
                    + json.currentLocation().getColumnNr());
        }
    }
}
