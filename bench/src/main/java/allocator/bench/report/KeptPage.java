package allocator.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of a program whose results may be kept, as a mixin of its command line. */
public final class KeptPage {
    private static final String NAME = "[A-Za-z0-9][A-Za-z0-9._-]*";

    @Spec(Spec.Target.MIXEE)
    private @Nullable CommandSpec program;

    @Option(names = "--keep", paramLabel = "NAME", description = "Keep the results as bench/results/NAME.*.")
    private @Nullable String name;

    @Option(names = "--results", hidden = true, description = "The folder for --keep.")
    private Path folder = Path.of("bench/results");

    @Option(names = "--commit", hidden = true, description = "What is measured.")
    private String commit = "unknown";

    private final String loadBefore = Machine.load();

    /** Creates options with their defaults. */
    public KeptPage() {}

    /**
     * Checks the name of the results. To be called before anything is measured.
     *
     * @throws ParameterException if it is not a file's name
     */
    public void requireName() {
        requireFileName("--keep", name);
    }

    /**
     * Checks the value of an option.
     *
     * @param option the option
     * @param value its value, if it was given
     * @throws ParameterException if it is not a file's name
     */
    public void requireFileName(String option, @Nullable String value) {
        if (value != null && !value.matches(NAME)) {
            throw failure(option + " takes letters, digits, '.', '_' and '-': " + value);
        }
    }

    /**
     * Returns the exception for options that cannot be used.
     *
     * @param message what is wrong
     * @return the exception, whose throw shows the usage
     */
    public ParameterException failure(String message) {
        if (program == null) {
            throw new IllegalStateException("not a mixin of a command line");
        }
        return new ParameterException(program.commandLine(), message);
    }

    /**
     * Returns the lines of a page that say where and when it was measured, each a point of a list.
     *
     * @return machine, JDK, commit, date and load
     */
    public String head() {
        return """
                - machine: %s
                - JDK: %s
                - commit: %s
                - date: %s
                - load average: %s before, %s after
                """.formatted(
                        Machine.description(),
                        Machine.jdk(),
                        commit,
                        LocalDate.now(ZoneOffset.UTC),
                        loadBefore,
                        Machine.load());
    }

    /**
     * Returns a file of results.
     *
     * @param fileName its name
     * @return the file, in the folder of kept results
     */
    public Path file(String fileName) {
        return folder.resolve(fileName);
    }

    /**
     * Returns the file to be kept.
     *
     * @param ending such as {@code .svg}
     * @return the file, in a folder that exists; empty if nothing is to be kept
     * @throws IOException if the folder cannot be made
     */
    public Optional<Path> kept(String ending) throws IOException {
        if (name == null) {
            return Optional.empty();
        }
        Files.createDirectories(folder);
        return Optional.of(folder.resolve(name + ending));
    }

    /**
     * Writes the page, if it is to be kept.
     *
     * @param page its text
     * @throws IOException if it cannot be written
     */
    public void write(CharSequence page) throws IOException {
        final Optional<Path> file = kept(".md");
        if (file.isPresent()) {
            Files.writeString(file.get(), page);
        }
    }
}
