package allocator.conformance.runner.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How a Java process ended that should not have, in words.
 *
 * @param exitCode its exit code
 * @param crashFile what the JVM wrote of its crash, if it crashed
 * @param printed the end of what it printed
 */
record ProcessEnd(int exitCode, Path crashFile, String printed) {
    private static final int FRAMES = 12;
    private static final int LINES = 12;

    /** What the JVM prints of its options as it starts, such as those for modules that this process has not. */
    private static final Pattern OF_THE_JVM = Pattern.compile("WARNING: Unknown module: |(NOTE: )?Picked up J");

    /** The exit code of a process that signal 9 ended, as the system does that has no memory left. */
    private static final int KILLED = 137;

    @Override
    public String toString() {
        final List<String> crash = crash();
        if (!crash.isEmpty()) {
            return "the JVM crashed\n" + String.join("\n", crash);
        }
        final String how = exitCode == KILLED
                ? "the process was killed, perhaps as the system ran out of memory (exit code 137)"
                : "the process ended with exit code " + exitCode + ", by a call of exit or halt, or by a signal";
        final String lines = lastLines();
        return lines.isEmpty() ? how : how + "; it printed last\n" + lines;
    }

    private String lastLines() {
        final List<String> lines = printed.strip()
                .lines()
                .filter(line -> !OF_THE_JVM.matcher(line).lookingAt())
                .toList();
        return lines.stream()
                .skip(Math.max(0, lines.size() - LINES))
                .map(line -> "    " + line)
                .collect(Collectors.joining("\n"));
    }

    /** Returns the signal, the frame in which it was raised, and the Java frames beneath, from the JVM's own report. */
    private List<String> crash() {
        final List<String> all;
        try {
            all = Files.readAllLines(crashFile, StandardCharsets.ISO_8859_1);
        } catch (IOException _) {
            return List.of();
        }
        final List<String> shown = new ArrayList<>();
        all.stream()
                .filter(line -> line.startsWith("#  ") || line.startsWith("# C  ") || line.startsWith("# J "))
                .filter(line -> !line.contains("://"))
                .map(line -> "    " + line.substring(1).strip())
                .forEach(shown::add);
        final int frames = all.indexOf("Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)");
        if (frames >= 0) {
            all.stream()
                    .skip(frames + 1L)
                    .takeWhile(line -> !line.isBlank())
                    .limit(FRAMES)
                    .map(line -> "    at " + line)
                    .forEach(shown::add);
        }
        return shown;
    }
}
