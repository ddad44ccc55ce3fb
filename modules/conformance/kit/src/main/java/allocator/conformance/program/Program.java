package allocator.conformance.program;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A sequence of steps on one allocator, as the model-based test generates it and {@code --replay} reads it.
 *
 * @param memory the memory to run on, as {@code MemoryInfo.toString} writes it
 * @param options the options of the allocator
 * @param steps the steps, in order
 */
public record Program(String memory, Map<String, String> options, List<Op> steps) {
    private static final String HEADER = "# A program of the allocator conformance kit";

    /** Copies the components. */
    public Program {
        options = new TreeMap<>(options);
        steps = List.copyOf(steps);
    }

    Program withSteps(List<Op> other) {
        return new Program(memory, options, other);
    }

    Program withoutOptions() {
        return new Program(memory, Map.of(), steps);
    }

    /** Returns the program as a file: a comment, the memory, the options, and a line for each step. */
    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder(HEADER).append('\n');
        text.append("memory ").append(memory).append('\n');
        options.forEach((key, value) ->
                text.append("option ").append(key).append('=').append(value).append('\n'));
        steps.forEach(step -> text.append(step).append('\n'));
        return text.toString();
    }

    /**
     * Parses the lines that {@code toString} wrote.
     *
     * @throws IllegalArgumentException if a line is malformed; the message names the line
     */
    public static Program parse(List<String> lines) {
        String memory = "";
        final Map<String, String> options = new TreeMap<>();
        final List<Op> steps = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            final String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            try {
                if (line.startsWith("memory ")) {
                    memory = line.substring("memory ".length());
                } else if (line.startsWith("option ") && line.contains("=")) {
                    final int equals = line.indexOf('=');
                    options.put(line.substring("option ".length(), equals), line.substring(equals + 1));
                } else {
                    steps.add(Op.parse(line));
                }
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("line " + (i + 1) + ": " + e.getMessage(), e);
            }
        }
        if (memory.isEmpty()) {
            throw new IllegalArgumentException("there is no line 'memory NAME'");
        }
        return new Program(memory, options, steps);
    }
}
