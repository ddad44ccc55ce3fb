package allocator.bench.page;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of a program whose page of results may be kept, as a mixin of its command line. */
public final class KeptPage {
    private static final String NAME = "[A-Za-z0-9][A-Za-z0-9._-]*";

    @Spec(Spec.Target.MIXEE)
    private @Nullable CommandSpec program;

    @Option(names = "--keep", paramLabel = "NAME", description = "Write bench/results/NAME.md.")
    private @Nullable String name;

    @Option(names = "--results", hidden = true, description = "The folder for --keep.")
    private Path folder = Path.of("bench/results");

    @Option(names = "--commit", hidden = true, description = "What is measured.")
    private String commit = "unknown";

    /** Creates options with their defaults. */
    public KeptPage() {}

    /**
     * Returns the commit that is measured.
     *
     * @return its hash, {@code unknown} if it was not given
     */
    public String commit() {
        return commit;
    }

    /**
     * Checks the name of the page. To be called before anything is measured.
     *
     * @throws ParameterException if it is not a file's name
     */
    public void requireName() {
        if (name != null && !name.matches(NAME)) {
            throw failure("--keep takes letters, digits, '.', '_' and '-': " + name);
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
     * Writes the page, if it is to be kept.
     *
     * @param page its text
     * @throws IOException if it cannot be written
     */
    public void write(CharSequence page) throws IOException {
        if (name != null) {
            Files.createDirectories(folder);
            Files.writeString(folder.resolve(name + ".md"), page);
        }
    }
}
