package allocator.runtime.snapshot;

import java.io.IOException;
import java.io.Writer;

/**
 * Writes JSON of ASCII characters, one line. The caller keeps names and values in turn. Only what a snapshot needs:
 * objects, arrays, text, integers and truth values.
 */
final class JsonWriter {
    private static final int FULL = 1 << 13;

    private final Writer out;
    private final StringBuilder text = new StringBuilder(FULL + 256);

    /** Whether a value follows another one in its object or array. */
    private boolean isNext;

    JsonWriter(Writer out) {
        this.out = out;
    }

    JsonWriter startObject() throws IOException {
        return open('{');
    }

    JsonWriter endObject() {
        return close('}');
    }

    JsonWriter startArray() throws IOException {
        return open('[');
    }

    JsonWriter endArray() {
        return close(']');
    }

    private JsonWriter open(char bracket) throws IOException {
        separate();
        text.append(bracket);
        isNext = false;
        return this;
    }

    private JsonWriter close(char bracket) {
        text.append(bracket);
        isNext = true;
        return this;
    }

    JsonWriter name(String name) throws IOException {
        separate();
        quote(name);
        text.append(':');
        isNext = false;
        return this;
    }

    JsonWriter value(String value) throws IOException {
        separate();
        quote(value);
        return this;
    }

    JsonWriter value(long value) throws IOException {
        separate();
        text.append(value);
        return this;
    }

    JsonWriter value(boolean value) throws IOException {
        separate();
        text.append(value);
        return this;
    }

    /** Writes what is left. */
    void end() throws IOException {
        text.append('\n');
        pass();
    }

    private void separate() throws IOException {
        if (isNext) {
            text.append(',');
        }
        isNext = true;
        if (text.length() >= FULL) {
            pass();
        }
    }

    private void pass() throws IOException {
        out.append(text);
        text.setLength(0);
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            final char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c >= ' ' && c <= '~') {
                text.append(c);
            } else {
                text.append("\\u");
                for (int shift = 12; shift >= 0; shift -= 4) {
                    text.append(Character.forDigit((c >> shift) & 0xF, 16));
                }
            }
        }
        text.append('"');
    }
}
