package allocator.doctor;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * What is measured.
 *
 * @param model the model's file
 * @param values settings by key
 */
record Settings(Path model, Map<String, String> values) {
    static Settings of(String... args) {
        final Map<String, String> values = new TreeMap<>();
        for (int i = 2; i < args.length; i++) {
            // A key may contain the sign, as the name of an input may; a value does not.
            final int sign = args[i].lastIndexOf('=');
            values.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        return new Settings(Path.of(args[1]), values);
    }

    /** Returns the settings whose key has a prefix, without it. */
    Map<String, String> with(String prefix) {
        final Map<String, String> found = new TreeMap<>();
        values.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                found.put(key.substring(prefix.length()), value);
            }
        });
        return found;
    }

    /** Returns whether a setting is on. */
    boolean is(String key) {
        return "true".equals(values.get(key));
    }

    /** Returns a number. */
    long number(String key) {
        return Long.parseLong(values.getOrDefault(key, "0"));
    }

    /** Returns the ordinal of the CUDA device, or -1 for the processor. */
    int gpu() {
        return Integer.parseInt(values.getOrDefault("gpu", "-1"));
    }

    /** Returns the most bytes of host memory that a session may use: three quarters of the machine's or container's. */
    static long hostLimit() {
        return 3 * Runtime.getRuntime().maxMemory(); // a JVM's heap may have a quarter
    }

    /** Returns options for a session; the caller closes them. */
    SessionOptions options() throws OrtException {
        final SessionOptions options = new SessionOptions();
        options.setMemoryPatternOptimization(!is("no-patterns"));
        if (gpu() >= 0) {
            options.addCUDA(gpu());
        }
        return options;
    }
}
