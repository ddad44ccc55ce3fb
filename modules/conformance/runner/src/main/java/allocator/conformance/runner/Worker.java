package allocator.conformance.runner;

import allocator.conformance.contract.RuleFilter;
import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.process.ChildProcess;
import allocator.conformance.runner.process.Journal;
import allocator.conformance.subject.CleanupFindings;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.platform.engine.support.descriptor.MethodSource;

/**
 * The program of the process that a provider runs in. It reads a {@link Request} from its standard input, and writes
 * {@link Message}s to a journal. A test that hangs ends it, as its threads cannot be ended otherwise.
 */
final class Worker implements Suites.Listener {
    private static final int FRAMES = 16;

    private final Request request;
    private final Journal journal;
    private final CleanupFindings findings;

    private Worker(Request request, Journal journal) {
        this.request = request;
        this.journal = journal;
        findings = new CleanupFindings(request.findings(), request.cleanups(), true);
    }

    static void main(String... arguments) {
        int exitCode = 1;
        try {
            final InputStream in = System.in;
            System.setIn(InputStream.nullInputStream());
            final Request request = (Request) new ObjectInputStream(in).readObject();
            endWith(in);
            final Worker worker = new Worker(request, Journal.append(Path.of(arguments[0])));
            Runtime.getRuntime().addShutdownHook(new Thread(worker::exits));
            worker.run();
            exitCode = 0;
        } catch (Throwable e) {
            // Printed last, and so shown as the reason of the end.
            System.err.println("the kit failed: " + LoadedProvider.describe(e));
        }
        // Without the hook, which reports an exit that is not ours, and without waiting for anyone.
        ChildProcess.halt(exitCode);
    }

    /** Ends this process when the runner's ends: its end of the stream is closed then. */
    private static void endWith(InputStream in) {
        Thread.ofPlatform().daemon().name("end of the runner").start(() -> {
            try {
                in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException _) {
                // The same as its end.
            }
            ChildProcess.halt(1);
        });
    }

    /** The hook of an exit that is not ours. */
    private void exits() {
        write(new Message.Exiting(stackOfExit()));
        ChildProcess.destroyDescendants();
    }

    private static String stackOfExit() {
        return Thread.getAllStackTraces().values().stream()
                .filter(stack -> Arrays.stream(stack).anyMatch(Worker::isExit))
                .findFirst()
                .map(stack -> Arrays.stream(stack)
                        .dropWhile(frame -> !isExit(frame))
                        .dropWhile(frame -> frame.getClassName().startsWith("java.lang."))
                        .takeWhile(frame -> !frame.getClassName().startsWith("allocator.conformance."))
                        .limit(FRAMES)
                        .map(frame -> "    at " + frame)
                        .collect(Collectors.joining("\n")))
                .orElse("");
    }

    private static boolean isExit(StackTraceElement frame) {
        return frame.getClassName().equals("java.lang.Runtime")
                && frame.getMethodName().equals("exit");
    }

    private void run() {
        try {
            final ProcessState before = ProcessState.now();
            started("required_F01_constructingTouchesNoDevice", "", "provider");
            final LoadedProvider chosen =
                    new Providers(request.providers(), text -> write(new Message.Problem(text))).chosen();
            started("required_F03_whatIsNotUsableIsExplained", "", "provider");
            final ProviderRun.Provider provider = new ProviderRun.Provider(
                    chosen.factories(), request.hasProbe() ? Providers.probes(chosen) : _ -> Optional.empty());
            write(new Message.Described(Suites.describe(provider, request.settings()), chosen.type()));
            new Suites(provider, request.settings(), findings, before)
                    .run(selection(new RuleFilter(request.rules())), this);
            write(new Message.Done());
        } catch (IllegalArgumentException e) {
            write(new Message.Refused(String.valueOf(e.getMessage())));
        } catch (IllegalStateException e) {
            write(new Message.KitFailed(LoadedProvider.describe(e)));
        }
    }

    private Predicate<MethodSource> selection(RuleFilter filter) {
        return source -> {
            final TestName test = TestName.of(source.getMethodName()).orElseThrow();
            return filter.accepts(test.rule())
                    && (!request.isRandomOnly() || test.strength() == TestName.Strength.STOCHASTIC)
                    && !request.leftOut().contains(test.rule())
                    && !request.leftOut().contains(source.getMethodName())
                    && !request.leftOut().contains(source.getClassName());
        };
    }

    private void write(Message message) {
        try {
            journal.write(message);
        } catch (IOException e) {
            System.err.println("no result can be written: " + LoadedProvider.describe(e));
            ChildProcess.halt(1);
        }
    }

    @Override
    public void started(String test, String chapter, String memory) {
        write(new Message.Started(test, chapter, memory));
    }

    @Override
    public void finished(TestResult result, boolean isHang) {
        write(new Message.Finished(result, isHang, findings.findings(), findings.tests()));
        if (isHang) {
            ChildProcess.halt(0);
        }
    }
}
