package allocator.view;

import java.util.HashMap;
import java.util.Map;

/** The numbers and texts of an object of a snapshot, by field. */
final class Scalars {
    private final Map<String, Long> numbers = new HashMap<>();
    private final Map<String, String> texts = new HashMap<>();

    void put(String name, long value) {
        numbers.put(name, value);
    }

    void put(String name, String value) {
        texts.put(name, value);
    }

    /** Returns a text; it is empty if there is none. */
    String text(String name) {
        return texts.getOrDefault(name, "");
    }

    long number(String name, long otherwise) {
        return numbers.getOrDefault(name, otherwise);
    }
}
