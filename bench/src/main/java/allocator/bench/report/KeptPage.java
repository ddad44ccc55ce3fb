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

    /** Checks that the name of the results is a file's name. To be called before anything is measured. */
    public void requireName() {
        requireFileName("--keep", name);
    }

    /** Checks that the value of an option, if it was given, is a file's name. */
    public void requireFileName(String option, @Nullable String value) {
        if (value != null && !value.matches(NAME)) {
            throw failure(option + " takes letters, digits, '.', '_' and '-': " + value);
        }
    }

    /** Returns the exception for options that cannot be used, whose throw shows the usage. */
    public ParameterException failure(String message) {
        if (program == null) {
            throw new IllegalStateException("not a mixin of a command line");
        }
        return new ParameterException(program.commandLine(), message);
    }

    /** Returns the lines of a page that say where and when it was measured, each a point of a list. */
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

    /** Returns a file in the folder of kept results. */
    public Path file(String fileName) {
        return folder.resolve(fileName);
    }

    /** Returns the file to be kept, with an ending such as {@code .svg}, in an existing folder; empty if none is. */
    public Optional<Path> kept(String ending) throws IOException {
        if (name == null) {
            return Optional.empty();
        }
        Files.createDirectories(folder);
        return Optional.of(folder.resolve(name + ending));
    }

    /** Writes the page, if it is to be kept. */
    public void write(CharSequence page) throws IOException {
        final Optional<Path> file = kept(".md");
        if (file.isPresent()) {
            Files.writeString(file.get(), page);
        }
    }
}
