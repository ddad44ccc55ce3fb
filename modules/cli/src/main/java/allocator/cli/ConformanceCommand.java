package allocator.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Runs the conformance kit on a provider. */
@Command(
        name = "conformance",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%n",
        header = "Proves that a provider keeps the rules of the contract.",
        footer = {"", "Exit codes: 0 no rule is broken, 1 a rule is broken, 2 wrong usage."})
final class ConformanceCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Option(
            names = "--provider",
            paramLabel = "NAME",
            description = "The provider; see @|bold allocator providers|@. Not needed if there is one only.")
    private @Nullable String provider;

    @Option(
            names = "--providers-dir",
            paramLabel = "DIR",
            description = "Look for it in the jars of this folder. Repeatable.")
    private List<Path> providerFolders = new ArrayList<>();

    @Option(names = "--rules", paramLabel = "GLOBS", description = "Only these rules, such as A-* or S-0?,T-03.")
    private @Nullable String rules;

    @Option(names = "--seed", paramLabel = "N", description = "Where random programs begin. Default: 1.")
    private @Nullable Long seed;

    @Option(names = "--quick", description = "A few seconds instead of a minute.")
    private boolean quick;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "The longest that one test may take. Default: 30.")
    private @Nullable Long timeout;

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "Write report.html, report.json, TEST-conformance.xml and failing programs there.")
    private @Nullable Path report;

    @Option(
            names = "--replay",
            paramLabel = "FILE",
            description = "Run one program, as a failure printed it, and tell each step.")
    private @Nullable Path replay;

    ConformanceCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        final List<String> arguments = new ArrayList<>();
        add(arguments, "--provider", provider);
        providerFolders.forEach(folder -> add(arguments, "--providers-dir", folder));
        add(arguments, "--rules", rules);
        add(arguments, "--seed", seed);
        add(arguments, "--timeout", timeout);
        add(arguments, "--report", report);
        add(arguments, "--replay", replay);
        if (quick) {
            arguments.add("--quick");
        }
        return allocator.conformance.Main.run(terminal.out(), terminal.err(), arguments.toArray(String[]::new));
    }

    private static void add(List<String> arguments, String option, @Nullable Object value) {
        if (value != null) {
            arguments.add(option);
            arguments.add(value.toString());
        }
    }
}
