package allocator.conformance.exam;

import allocator.conformance.exam.WholeExam.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;

/**
 * The results of a whole exam in a file, a line for each edit, so that a run goes on where another one ended. A result
 * counts only as long as the kit, the edit and the way of running are the same.
 */
final class ExamJournal {
    private static final String SEPARATOR = "\t";

    private final Path file;
    private final CRC32 kit = new CRC32();
    private final String way;
    private final Map<String, String[]> lines = new HashMap<>();

    /**
     * Reads a journal, if there is one.
     *
     * @param file where it is
     * @param kit the jars of the kit
     * @param way how each edit is run
     */
    ExamJournal(Path file, List<Path> kit, String way) throws IOException {
        this.file = file;
        this.way = way;
        for (final Path jar : kit) {
            this.kit.update(Files.readAllBytes(jar));
        }
        if (Files.exists(file)) {
            for (final String line : Files.readAllLines(file)) {
                final String[] words = line.split(SEPARATOR, -1);
                lines.put(words[0], words);
            }
        }
    }

    /** Returns the result of an edit, if the journal has it. */
    synchronized Optional<Result> find(ExamProvider provider, Edit edit) {
        final String[] words = lines.get(edit.name());
        if (words == null || !words[1].equals(state(provider, edit))) {
            return Optional.empty();
        }
        final List<Finding> findings = new ArrayList<>();
        for (int i = 4; i + 2 < words.length; i += 3) {
            findings.add(new Finding(words[i], words[i + 1], words[i + 2]));
        }
        return Optional.of(new Result(edit, words[2], findings, words[3]));
    }

    /** Adds the result of an edit. */
    synchronized void add(ExamProvider provider, Result result) throws IOException {
        final List<String> words = new ArrayList<>();
        words.add(result.edit().name());
        words.add(state(provider, result.edit()));
        words.add(result.how());
        words.add(result.problem());
        for (final Finding finding : result.findings()) {
            words.addAll(List.of(finding.rule(), finding.test(), finding.message()));
        }
        words.replaceAll(word -> word.replaceAll("\\p{Cntrl}", " "));
        Files.writeString(
                file, String.join(SEPARATOR, words) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        lines.put(words.getFirst(), words.toArray(String[]::new));
    }

    private String state(ExamProvider provider, Edit edit) {
        return Integer.toHexString(List.of(kit.getValue(), way, edit, provider.sources())
                .toString()
                .hashCode());
    }
}
