package allocator.view;

import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.AllocatorStats;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The tokens of a snapshot's JSON: what is missing or wrong is reported with the file. */
record SnapshotTokens(String file, JsonParser json) {
    /** No message quotes more of a text. */
    private static final int MOST_QUOTED = 60;

    private static final Pattern ADDRESS = Pattern.compile("[0-9a-fA-F]{1,16}");

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
            throw error("is damaged: there must be " + name(token) + place());
        }
    }

    private static String name(JsonToken token) {
        return switch (token) {
            case START_OBJECT -> "an object";
            case END_OBJECT -> "the end of an object";
            case START_ARRAY -> "an array";
            case VALUE_NUMBER_INT -> "a whole number";
            default -> "another value";
        };
    }

    /** Returns where the parser is. */
    String place() {
        return place(json.currentLocation());
    }

    static String place(@Nullable JsonLocation location) {
        return location == null ? "" : " at line " + location.getLineNr() + ", column " + location.getColumnNr();
    }

    /** Returns the constant of a name in lower case. */
    <E extends Enum<E>> E constant(Class<E> type, String what, String name) throws SnapshotException {
        for (final E constant : type.getEnumConstants()) {
            if (constant.name().toLowerCase(Locale.ROOT).equals(name)) {
                return constant;
            }
        }
        throw error("has the " + what + " '" + quote(name) + "'" + place() + "; there are "
                + Arrays.stream(type.getEnumConstants())
                        .map(constant -> constant.name().toLowerCase(Locale.ROOT))
                        .collect(Collectors.joining(", ")));
    }

    /** Returns an address. */
    long address(String text) throws SnapshotException {
        if (!ADDRESS.matcher(text).matches()) {
            throw error("has the address '" + quote(text) + "'" + place() + ": it must be hexadecimal");
        }
        return Long.parseUnsignedLong(text, 16);
    }

    /** Returns a figure in bytes of a failure, which is negative only to say that there is none. */
    long figure(Scalars values, String name) throws SnapshotException {
        final long figure = values.number(name, Failure.UNKNOWN);
        if (figure < Failure.UNKNOWN || (figure == AllocatorStats.UNLIMITED && !name.equals("limit"))) {
            throw error("has a failure whose " + name + " is " + figure + " bytes" + place());
        }
        return figure;
    }

    private static String quote(String text) {
        return text.length() <= MOST_QUOTED ? text : text.substring(0, MOST_QUOTED) + "...";
    }
}
