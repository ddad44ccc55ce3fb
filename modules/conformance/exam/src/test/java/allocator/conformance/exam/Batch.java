package allocator.conformance.exam;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Runs one provider after another in this process, up to the first test that fails. What was found is written to a file
 * as it is found: where a provider ends the process, another run goes on behind it.
 */
final class Batch {
    private Batch() {}

    /**
     * Runs edits.
     *
     * @param arguments the pattern of their names; the file of results, which names those that have run; {@code own} or
     *     {@code all} for the rules; {@code quick} or {@code full}; {@code wrong} or {@code unusual}
     */
    static void main(String... arguments) throws IOException {
        final Path file = Path.of(arguments[1]);
        final Set<String> done = new HashSet<>();
        if (Files.exists(file)) {
            Files.readAllLines(file).forEach(line -> done.add(line.split(" ", 2)[0]));
        }
        for (final ExamProvider provider : ExamProvider.all()) {
            for (final Edit edit : provider.edits()) {
                if (edit.isWrong() == arguments[4].equals("wrong")
                        && edit.name().matches(arguments[0])
                        && !done.contains(edit.name())) {
                    append(file, edit.name() + " started\n");
                    append(
                            file,
                            edit.name() + " "
                                    + run(provider, edit, arguments[2].equals("own"), arguments[3].equals("quick"))
                                    + "\n");
                }
            }
        }
        append(file, "all done\n");
        Runtime.getRuntime().halt(0);
    }

    private static String run(ExamProvider provider, Edit edit, boolean isOwn, boolean isQuick) {
        final long start = System.nanoTime();
        try {
            final Optional<Finding> found = InProcess.firstFailure(
                    CompiledProvider.of(provider.factory(), provider.edited(edit))
                            .load(),
                    isOwn ? edit.rules() : List.of("*"),
                    isQuick);
            return (System.nanoTime() - start) / 1_000_000 + " ms "
                    + found.map(finding -> "FOUND " + finding.rule() + " " + finding.test() + ": " + finding.message())
                            .orElse("NONE " + edit.rules());
        } catch (IllegalArgumentException e) {
            return "ERROR " + String.valueOf(e.getMessage()).lines().toList();
        }
    }

    private static void append(Path file, String text) throws IOException {
        Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
