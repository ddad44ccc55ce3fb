package allocator.conformance.exam;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A right provider and the edits that make it wrong or unusual, read from {@code src/test/exam}.
 *
 * @param name its name, which is that of its package below {@code exam}
 * @param sources its sources by the names of their files
 * @param edits its edits
 */
record ExamProvider(String name, Map<String, String> sources, List<Edit> edits) {
    /** The folder of the data, unless the property {@code allocator.exam.data} names another. */
    private static final Path DATA = Path.of("src/test/exam");

    /** Returns all providers, with all edits. */
    static List<ExamProvider> all() {
        return all(".*");
    }

    /** Returns all providers, with the edits of the files that have such a name. */
    static List<ExamProvider> all(String files) {
        final Path data = Path.of(System.getProperty("allocator.exam.data", DATA.toString()));
        try (Stream<Path> folders = Files.list(data.resolve("providers"))) {
            final List<ExamProvider> providers = new ArrayList<>();
            for (final Path folder : folders.sorted().toList()) {
                providers.add(read(folder, data.resolve("edits"), files));
            }
            return List.copyOf(providers);
        } catch (IOException e) {
            throw new IllegalStateException("the data of the exam cannot be read", e);
        }
    }

    private static ExamProvider read(Path folder, Path edits, String names) throws IOException {
        final String name = folder.getFileName().toString();
        final Map<String, String> sources = new TreeMap<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (final Path file : files.toList()) {
                if (file.toString().endsWith(".java")) {
                    sources.put(file.getFileName().toString(), Files.readString(file));
                }
            }
        }
        final List<Edit> all = new ArrayList<>();
        final Set<String> ids = new HashSet<>();
        try (Stream<Path> files = Files.list(edits)) {
            for (final Path file : files.sorted().toList()) {
                final String edited = file.getFileName().toString();
                if (edited.matches(name + "(-.*)?\\.txt") && edited.matches(names)) {
                    all.addAll(Edit.parse(name, Files.readString(file)));
                }
            }
        }
        for (final Edit edit : all) {
            if (!ids.add(edit.id())) {
                throw new IllegalArgumentException(edit.name() + " is there twice");
            }
        }
        return new ExamProvider(name, sources, List.copyOf(all));
    }

    /** Returns the name of the factory's class. */
    String factory() {
        return "exam." + name + ".Factory";
    }

    /**
     * Returns the sources with the changes of an edit.
     *
     * @throws IllegalArgumentException unless each old text is in its source exactly once
     */
    Map<String, String> edited(Edit edit) {
        final Map<String, String> edited = new TreeMap<>(sources);
        for (final Edit.Change change : edit.changes()) {
            edited.merge(change.file(), change.after(), (source, _) -> replaced(edit, change, source));
        }
        return edited;
    }

    private static String replaced(Edit edit, Edit.Change change, String source) {
        final int start = source.indexOf(change.before());
        if (change.before().isEmpty() || start < 0 || source.indexOf(change.before(), start + 1) >= 0) {
            throw new IllegalArgumentException(
                    edit.name() + ": the old text is not exactly once in " + change.file() + ":\n" + change.before());
        }
        return source.substring(0, start)
                + change.after()
                + source.substring(start + change.before().length());
    }
}
