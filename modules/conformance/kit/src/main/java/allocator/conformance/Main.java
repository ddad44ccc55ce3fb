package allocator.conformance;

import allocator.conformance.ConformanceReport.RuleResult;
import allocator.conformance.ConformanceReport.Status;
import allocator.conformance.ConformanceReport.TestResult;
import allocator.spi.MemoryInfo;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The command: proves a provider of the module path, or of a directory of jars.
 *
 * <pre>
 * java -p jars --enable-native-access=java.allocator.conformance,my.provider \
 *     -m java.allocator.conformance/allocator.conformance.Main --provider NAME --report DIR
 * </pre>
 *
 * <p>It ends with 0 if no rule is broken, 1 if one is, 2 if it was called wrongly.
 */
public final class Main {
    /** The exit code of a run that broke no rule. */
    public static final int PASSED = 0;

    /** The exit code of a run that broke a rule. */
    public static final int FAILED = 1;

    /** The exit code of a wrong call. */
    public static final int USAGE = 2;

    /** How it is called. */
    static final String HELP = """
            Proves that an allocator provider keeps the rules of the contract.

            Usage: allocator.conformance.Main [options]

              --provider NAME       the provider, by the name of its factory; not needed if there is one only
              --providers-dir DIR   look for it among the jars of a directory; may be repeated
              --rules GLOBS         only these rules, such as A-* or S-0?,T-03 (default: *)
              --seed N              where random programs begin (default: 1)
              --quick               a few seconds instead of a minute
              --timeout SECONDS     the longest that one test may take (default: 30)
              --report DIR          write report.html, report.json, TEST-conformance.xml and programs there
              --replay FILE         run one program, as a failure printed it, and tell each step
              --list                list the providers found, and end
              --help                this text

            Exit codes: 0 no rule is broken, 1 a rule is broken, 2 wrong usage.
            """;

    private final PrintWriter out;
    private final PrintWriter err;

    private Main(PrintWriter out, PrintWriter err) {
        this.out = out;
        this.err = err;
    }

    /**
     * Runs the command and ends the process.
     *
     * @param arguments as {@code --help} tells
     */
    public static void main(String[] arguments) {
        // Ends threads as well that a hanging provider has left behind.
        final PrintWriter out = new PrintWriter(System.out, false, System.out.charset());
        final PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
        final int code = run(out, err, arguments);
        out.flush();
        System.exit(code);
    }

    /**
     * Runs the command.
     *
     * @param out where results go
     * @param err where errors go
     * @param arguments as {@code --help} tells
     * @return the exit code
     */
    public static int run(PrintWriter out, PrintWriter err, String... arguments) {
        return new Main(out, err).run(arguments);
    }

    private int run(String... arguments) {
        try {
            final CommandLine line = CommandLine.parse(arguments);
            if (line.help()) {
                out.print(HELP);
                return PASSED;
            }
            final List<FoundProvider> found = find(line);
            if (line.list()) {
                found.forEach(provider -> out.println(provider.name()));
                return PASSED;
            }
            final FoundProvider provider = choose(found, line);
            return line.replay().isPresent() ? replay(provider, line) : prove(provider, line);
        } catch (IllegalArgumentException e) {
            err.println("error: " + e.getMessage());
            return USAGE;
        } catch (IOException e) {
            err.println("error: " + reason(e));
            return USAGE;
        }
    }

    private static List<FoundProvider> find(CommandLine line) {
        final List<FoundProvider> found = new ArrayList<>();
        line.directories().forEach(directory -> found.addAll(FoundProvider.in(directory)));
        // Who names a directory and no provider means the one that is there.
        if (line.directories().isEmpty() || line.provider().isPresent() || line.list()) {
            found.addAll(FoundProvider.ofApplication());
        }
        return found;
    }

    private static FoundProvider choose(List<FoundProvider> found, CommandLine line) {
        final List<String> names = found.stream().map(FoundProvider::name).toList();
        if (found.isEmpty()) {
            throw new IllegalArgumentException("no provider found "
                    + (line.directories().isEmpty()
                            ? "on the module path or the class path"
                            : "in " + line.directories()));
        }
        final List<FoundProvider> chosen = found.stream()
                .filter(provider -> line.provider().map(provider.name()::equals).orElse(true))
                .toList();
        if (chosen.size() != 1) {
            throw new IllegalArgumentException(line.provider()
                            .map(name ->
                                    chosen.isEmpty() ? "no provider is named " + name : "several are named " + name)
                            .orElse("there are several providers; choose one with --provider")
                    + "; found: " + String.join(", ", names));
        }
        return chosen.getFirst();
    }

    private int prove(FoundProvider provider, CommandLine line) throws IOException {
        if (line.report().isPresent()) {
            // Better said now than after the minute.
            requireDirectory(line.report().get());
        }
        final ConformanceRunner runner = new ConformanceRunner(provider.factories(), line.settings(), line.rules());
        out.println("Proving " + provider.name() + " with seed "
                + line.settings().seed() + (line.settings().quick() ? ", quickly" : "")
                + "; . passed, F failed, s skipped, a advice");
        final ConformanceReport report = runner.run(new Progress(out));
        new Table(out).print(report);
        if (line.report().isPresent()) {
            final Path directory = line.report().get();
            ReportFiles.write(report, directory);
            out.println("Report: " + directory.resolve(ReportFiles.HTML));
        }
        return report.passed() ? PASSED : FAILED;
    }

    private static void requireDirectory(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new IllegalArgumentException("no report can be written to " + directory + ": " + reason(e), e);
        }
        if (!Files.isWritable(directory)) {
            throw new IllegalArgumentException("no report can be written to " + directory + ": it is not writable");
        }
    }

    /** Why a file cannot be used, in words. */
    private static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "there is no such file";
            case AccessDeniedException _ -> "access is denied";
            case FileAlreadyExistsException _ -> "there is a file in its place";
            case CharacterCodingException _ -> "it is not text";
            case FileSystemException e when e.getReason() != null -> e.getReason();
            default -> failure.toString();
        };
    }

    private int replay(FoundProvider provider, CommandLine line) {
        final Path file = line.replay().orElseThrow();
        final Program program;
        try {
            program = Program.parse(Files.readAllLines(file));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
        } catch (IOException e) {
            throw new IllegalArgumentException(file + " cannot be read: " + reason(e), e);
        }
        final Kit kit = new Kit(provider.factories(), _ -> Optional.empty());
        final List<MemoryInfo> memories;
        try {
            memories = kit.memories(line.settings());
        } catch (Throwable e) {
            err.println("error: discovery failed: " + Expect.describe(e));
            return FAILED;
        }
        final MemoryInfo memory = memories.stream()
                .filter(info -> info.toString().equals(program.memory()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        provider.name() + " has no memory " + program.memory() + "; it has " + memories));
        final Optional<RuleBroken> broken =
                ProgramSearch.broken(kit, line.settings(), memory, program, step -> out.println("  " + step));
        out.println(broken.map(fault -> fault.rule() + " is broken: " + fault.getMessage())
                .orElse("The program breaks no rule."));
        return broken.isPresent() ? FAILED : PASSED;
    }

    /** Tells a reader that something happens: a sign for each test, with the chapter's letter before the first. */
    private static final class Progress implements Consumer<TestResult> {
        private static final int WIDTH = 96;

        private final PrintWriter out;
        private String chapter = "";
        private int column;

        Progress(PrintWriter out) {
            this.out = out;
        }

        @Override
        public void accept(TestResult test) {
            final String next = TestName.of(test.name()).orElseThrow().rule().substring(0, 1);
            if (!next.equals(chapter)) {
                print((chapter.isEmpty() ? "" : " ") + next);
                chapter = next;
            }
            print(
                    switch (test.status()) {
                        case PASSED -> ".";
                        case FAILED -> "F";
                        case ADVICE -> "a";
                        default -> "s";
                    });
            out.flush();
        }

        private void print(String text) {
            if (column + text.length() > WIDTH) {
                out.println();
                column = 0;
            }
            final String shown = column == 0 ? text.strip() : text;
            out.print(shown);
            column += shown.length();
        }
    }

    /** What is left of a report on a terminal. */
    private record Table(PrintWriter out) {
        void print(ConformanceReport report) {
            out.println();
            out.println();
            for (final Contract.Chapter chapter : Contract.chapters()) {
                final List<RuleResult> rules = report.rules().stream()
                        .filter(rule -> rule.chapter().equals(chapter.title()))
                        .toList();
                if (!rules.isEmpty()) {
                    out.printf(
                            Locale.ROOT,
                            "  %s  %-24s %2d passed %2d failed %2d skipped %2d untested%n",
                            chapter.letter(),
                            chapter.title(),
                            count(rules, Status.PASSED) + count(rules, Status.ADVICE),
                            count(rules, Status.FAILED),
                            count(rules, Status.SKIPPED),
                            count(rules, Status.UNTESTED));
                }
            }
            report.rules().stream()
                    .filter(rule -> rule.status() == Status.FAILED)
                    .forEach(this::printFailure);
            out.println();
            out.printf(
                    Locale.ROOT,
                    "%s %s: %s; %d rules passed, %d failed, %d skipped, %d untested; %d tests in %.1f s%n",
                    report.subject().provider(),
                    report.subject().version(),
                    report.passed() ? "CONFORMS" : "DOES NOT CONFORM",
                    report.count(Status.PASSED) + report.count(Status.ADVICE),
                    report.count(Status.FAILED),
                    report.count(Status.SKIPPED),
                    report.count(Status.UNTESTED),
                    report.tests().size(),
                    report.took().toMillis() / 1000.0);
        }

        private static long count(List<RuleResult> rules, Status status) {
            return rules.stream().filter(rule -> rule.status() == status).count();
        }

        private void printFailure(RuleResult rule) {
            out.println();
            out.println(rule.id() + " " + rule.text());
            rule.tests().stream().filter(test -> test.status() == Status.FAILED).forEach(test -> {
                out.println("  " + test.name());
                test.message().lines().forEach(text -> out.println("    " + text));
            });
        }
    }

    /**
     * The arguments, read.
     *
     * @param provider the name asked for
     * @param directories where to look; the module path if empty
     * @param settings how to run
     * @param rules which rules
     * @param report where to write
     * @param replay the program to run instead
     * @param list whether to list providers
     * @param help whether to print the help
     */
    private record CommandLine(
            Optional<String> provider,
            List<Path> directories,
            ConformanceSettings settings,
            String rules,
            Optional<Path> report,
            Optional<Path> replay,
            boolean list,
            boolean help) {

        static CommandLine parse(String... arguments) {
            Optional<String> provider = Optional.empty();
            final List<Path> directories = new ArrayList<>();
            ConformanceSettings settings = ConformanceSettings.DEFAULT;
            String rules = "*";
            Optional<Path> report = Optional.empty();
            Optional<Path> replay = Optional.empty();
            boolean list = false;
            boolean help = false;
            for (int i = 0; i < arguments.length; i++) {
                final String option = arguments[i];
                switch (option) {
                    case "--provider" -> provider = Optional.of(value(arguments, ++i));
                    case "--providers-dir" -> directories.add(Path.of(value(arguments, ++i)));
                    case "--rules" -> rules = value(arguments, ++i);
                    case "--seed" ->
                        settings =
                                new ConformanceSettings(number(arguments, ++i), settings.quick(), settings.timeLimit());
                    case "--quick" -> settings = new ConformanceSettings(settings.seed(), true, settings.timeLimit());
                    case "--timeout" ->
                        settings = new ConformanceSettings(
                                settings.seed(), settings.quick(), Duration.ofSeconds(number(arguments, ++i)));
                    case "--report" -> report = Optional.of(Path.of(value(arguments, ++i)));
                    case "--replay" -> replay = Optional.of(Path.of(value(arguments, ++i)));
                    case "--list" -> list = true;
                    case "--help", "-h" -> help = true;
                    default -> throw new IllegalArgumentException("unknown option " + option + "; try --help");
                }
            }
            return new CommandLine(provider, directories, settings, rules, report, replay, list, help);
        }

        private static String value(String[] arguments, int index) {
            if (index >= arguments.length) {
                throw new IllegalArgumentException(arguments[index - 1] + " needs a value; try --help");
            }
            return arguments[index];
        }

        private static long number(String[] arguments, int index) {
            final String text = value(arguments, index);
            try {
                return Long.parseLong(text);
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(
                        arguments[index - 1] + " needs a whole number, not '" + text + "'", e);
            }
        }
    }
}
