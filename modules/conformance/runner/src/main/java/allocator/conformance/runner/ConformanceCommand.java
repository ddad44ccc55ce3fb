package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.program.Program;
import allocator.conformance.program.ProgramFile;
import allocator.conformance.program.ProgramSearch;
import allocator.conformance.program.RuleViolation;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.output.PlainWriter;
import allocator.conformance.runner.output.WholeFile;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.spi.MemoryInfo;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The conformance command: runs the suites on a provider and prints what is broken. {@link Main} runs it as a program;
 * another picocli command can add it as a subcommand.
 */
@Command(
        name = "conformance",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%n",
        header = "Proves that a provider keeps the rules of the contract.",
        footer = {
            "",
            "The provider runs in a process of its own: a crash or a hang costs one rule.",
            "",
            "Exit codes: 0 conforms, 1 breaks a rule, 2 wrong usage, 3 not tested, as",
            "without a device."
        })
public final class ConformanceCommand implements Callable<Integer> {
    /** The exit code of a run in which the provider conforms, and of a program that broke no rule. */
    public static final int PASSED = 0;

    /** The exit code of a run that broke a rule. */
    public static final int FAILED = 1;

    /** The exit code of wrong usage. */
    public static final int USAGE = 2;

    /** The exit code of a run that tested nothing, as without a device. */
    public static final int NOT_TESTED = 3;

    private static final Duration WRITE_EVERY = Duration.ofSeconds(1);

    /** About two years. */
    private static final long MOST_MINUTES = 1_000_000;

    private final PrintWriter out;
    private final PrintWriter err;
    private final String error;
    private final String warning;

    @Option(
            names = "--provider",
            paramLabel = "NAME",
            description = "The provider, by the name of its factory. Not needed if there is only one.")
    private @Nullable String provider;

    @Option(
            names = "--providers-dir",
            paramLabel = "DIR",
            description = "Look for it in the jars of this folder. Repeatable.")
    private List<Path> directories = new ArrayList<>();

    @Option(names = "--rules", paramLabel = "GLOBS", description = "Only these rules, such as A-* or S-0?,T-03.")
    private String rules = "*";

    @Option(
            names = "--seed",
            paramLabel = "N",
            converter = AsciiLong.class,
            description = "The seed of random programs. Default: 1.")
    private long seed = ConformanceSettings.DEFAULT.seed();

    @Option(names = "--quick", description = "A few seconds instead of a minute.")
    private boolean quick;

    @Option(
            names = "--minutes",
            paramLabel = "N",
            converter = AsciiLong.class,
            description = "Go on with random tests and new seeds until N minutes have passed.")
    private long minutes;

    @Option(
            names = "--probe",
            description = "Use the probe of the device that lies beside the provider, a service"
                    + " allocator.conformance.DeviceProbeProvider.")
    private boolean probe;

    @Option(
            names = "--in-process",
            description = "Run the provider in this process, as for a debugger. It can then end or block the command.")
    private boolean inProcess;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            converter = AsciiLong.Seconds.class,
            description = "The time limit of a single test. Default: 30.")
    private long timeout = ConformanceSettings.DEFAULT.timeLimit().toSeconds();

    @Option(
            names = "--report",
            paramLabel = "DIR",
            description = "Write report.html, TEST-conformance.xml and failing programs there.")
    private @Nullable Path report;

    @Option(
            names = "--replay",
            paramLabel = "FILE",
            description = "Run one program, as a failure printed it, and print each step.")
    private @Nullable Path replay;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show the stack trace of an error.")
    private boolean verbose;

    /**
     * Creates the command as a part of another one.
     *
     * @param out receives results; control characters in them are escaped
     * @param err receives errors, likewise
     * @param name the other command, with which each line on {@code err} begins
     */
    public ConformanceCommand(PrintWriter out, PrintWriter err, String name) {
        this(out, err, name + ": ", name + ": warning: ");
    }

    /** Creates the command as one of its own. */
    ConformanceCommand(PrintWriter out, PrintWriter err) {
        this(out, err, "error: ", "warning: ");
    }

    private ConformanceCommand(PrintWriter out, PrintWriter err, String error, String warning) {
        this.out = PlainWriter.over(out, false);
        this.err = PlainWriter.over(err, true);
        this.error = error;
        this.warning = warning;
    }

    /** {@return whether stack traces are wanted: {@code --verbose} was given} */
    public boolean isVerbose() {
        return verbose;
    }

    /**
     * Runs the suites, or one program, on the chosen provider.
     *
     * @return the exit code
     */
    @Override
    public Integer call() {
        return withErrors(() -> {
            final ConformanceSettings settings = new ConformanceSettings(seed, quick, Duration.ofSeconds(timeout));
            return replay == null
                    ? prove(settings)
                    : replay(new Providers(choice(), this::warn).chosen(), settings, replay);
        });
    }

    /** Lists the providers found; returns the exit code. */
    int list() {
        return withErrors(() -> {
            new Providers(choice(), this::warn).all().forEach(one -> out.println(PlainWriter.oneLine(one.name())));
            return PASSED;
        });
    }

    private int withErrors(Callable<Integer> body) {
        try {
            requireNames();
            return body.call();
        } catch (IllegalArgumentException e) {
            return fail(e.getMessage(), e, USAGE);
        } catch (OutputException e) {
            return fail(e.getMessage(), e, FAILED);
        } catch (IOException e) {
            return fail(ProgramFile.reason(e), e, FAILED);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private int fail(@Nullable String message, Exception failure, int exitCode) {
        err.println(error + line(String.valueOf(message)));
        if (verbose) {
            failure.printStackTrace(err);
        }
        return exitCode;
    }

    /** Rejects empty names, which would mean the current directory. */
    private void requireNames() {
        if (directories.stream().anyMatch(ConformanceCommand::isEmpty)) {
            throw new IllegalArgumentException("--providers-dir: the name is empty");
        }
        if (isEmpty(report)) {
            throw new IllegalArgumentException("--report: the name is empty");
        }
        if (isEmpty(replay)) {
            throw new IllegalArgumentException("--replay: the name is empty");
        }
        if (minutes < 0 || minutes > MOST_MINUTES) {
            throw new IllegalArgumentException("--minutes is " + minutes + ", it must be from 0 to " + MOST_MINUTES);
        }
        if (inProcess && minutes > 0) {
            throw new IllegalArgumentException("--minutes needs a process for the provider: leave out --in-process");
        }
        if (provider != null && provider.isEmpty()) {
            throw new IllegalArgumentException("--provider: the name is empty");
        }
    }

    private static boolean isEmpty(@Nullable Path path) {
        return path != null && path.toString().isEmpty();
    }

    private Providers.Choice choice() {
        return Providers.Choice.of(provider, directories);
    }

    private void warn(String problem) {
        err.println(warning + line(problem));
    }

    private static String line(String text) {
        return text.strip().replaceAll("\\s*\\R\\s*", "; ");
    }

    private int prove(ConformanceSettings settings) throws IOException {
        if (report != null) {
            // Now rather than after a run of a minute.
            requireDirectory(report);
        }
        final Duration search = Duration.ofMinutes(minutes);
        final Proof proof = new Proof(settings);
        final ConformanceReport result;
        if (inProcess) {
            final LoadedProvider chosen = new Providers(choice(), this::warn).chosen();
            proof.begins(chosen.name());
            result = new ConformanceRunner(chosen.factories(), settings, rules)
                    .run(
                            new ProviderRun.Provider(
                                    chosen.factories(), probe ? Providers.probes(chosen) : _ -> Optional.empty()),
                            proof.line::add);
        } else {
            result = isolated(Request.of(choice(), probe, rules, settings), search, proof);
        }
        new ReportSummary(out).print(result);
        if (report != null) {
            write(result, report);
            out.println("Report: " + report.resolve(ReportFiles.HTML));
        }
        return result.verdict().exitCode();
    }

    private static ConformanceReport isolated(Request request, Duration search, Proof proof) throws IOException {
        try {
            return new IsolatedRun(request, search, proof).run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the run was interrupted", e);
        }
    }

    /** Prints what happens in a run as it happens, and lets the report grow with it. */
    private final class Proof implements IsolatedRun.Listener {
        private final ConformanceSettings settings;
        private final ProgressLine line = new ProgressLine(out);
        private long nextWrite = System.nanoTime();

        Proof(ConformanceSettings settings) {
            this.settings = settings;
        }

        @Override
        public void problem(String text) {
            warn(text);
        }

        @Override
        public void begins(ConformanceReport.Subject subject) {
            begins(subject.provider());
        }

        void begins(String name) {
            out.println("Proving " + PlainWriter.oneLine(name) + " with seed " + settings.seed()
                    + (settings.quick() ? ", quickly" : "") + "; . passed, F failed, s skipped, a advice");
            out.flush();
        }

        @Override
        public void finished(TestResult result, ConformanceReport reportSoFar) {
            line.add(result);
            final boolean isDue = result.status() == Status.FAILED || System.nanoTime() - nextWrite >= 0;
            if (report != null && isDue) {
                write(reportSoFar, report);
                nextWrite = System.nanoTime() + WRITE_EVERY.toNanos();
            }
        }

        @Override
        public void searches(long seed) {
            line.endLine();
            out.println("Random tests with seed " + seed);
            out.flush();
        }
    }

    private static void write(ConformanceReport result, Path directory) {
        try {
            ReportFiles.write(result, directory);
        } catch (IOException e) {
            throw new OutputException("no report can be written to " + directory + ": " + WholeFile.reason(e), e);
        }
    }

    private static void requireDirectory(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "no report can be written to " + directory + ": " + WholeFile.reason(e), e);
        }
        if (!Files.isWritable(directory)) {
            throw new IllegalArgumentException("no report can be written to " + directory + ": it is not writable");
        }
        try {
            for (final String file : ReportFiles.ALL) {
                WholeFile.check(directory.resolve(file));
            }
        } catch (IOException e) {
            throw new OutputException("no report can be written to " + directory + ": " + WholeFile.reason(e), e);
        }
    }

    private int replay(LoadedProvider chosen, ConformanceSettings settings, Path file) {
        final Program program = ProgramFile.read(file);
        final ProviderFixture fixture = new ProviderFixture(chosen.factories(), _ -> Optional.empty());
        final List<MemoryInfo> memories;
        try {
            memories = fixture.memories(settings);
        } catch (Throwable e) {
            err.println(error + "discovery failed: " + line(Expect.describe(e)));
            return FAILED;
        }
        final MemoryInfo memory = memories.stream()
                .filter(info -> info.toString().equals(program.memory()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        chosen.name() + " has no memory " + program.memory() + "; it has " + memories));
        final Optional<RuleViolation> violation =
                ProgramSearch.run(fixture, settings, memory, program, step -> out.println("  " + step));
        out.println(violation
                .map(fault -> fault.rule() + " is broken: " + fault.getMessage())
                .orElse("The program breaks no rule."));
        return violation.isPresent() ? FAILED : PASSED;
    }
}
