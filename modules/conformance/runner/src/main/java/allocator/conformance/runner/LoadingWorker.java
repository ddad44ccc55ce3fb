package allocator.conformance.runner;

import allocator.conformance.runner.process.ChildProcess;
import allocator.conformance.runner.process.Journal;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Watchdog;
import allocator.spi.EpFactory;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;

/**
 * The program of a process without native access: loads the factory of a provider that another process could load, asks
 * it who it is, and writes to a journal what it threw (F-01).
 */
final class LoadingWorker {
    /**
     * Which provider.
     *
     * @param type the name of the class of its factory
     * @param directories the folders of jars to look in, besides the paths of the application
     * @param timeLimit how long it may take
     */
    record Task(String type, List<String> directories, Duration timeLimit) implements Serializable {
        Task {
            directories = List.copyOf(directories);
        }
    }

    private LoadingWorker() {}

    static void main(String... arguments) throws Exception {
        final Task task = (Task) new ObjectInputStream(System.in).readObject();
        try (Journal journal = Journal.append(Path.of(arguments[0]))) {
            journal.write(new Message.Loaded(fault(task)));
        }
        // Without waiting for anyone.
        ChildProcess.halt(0);
    }

    private static String fault(Task task) {
        try {
            return Watchdog.call("load", task.timeLimit(), () -> {
                final List<Path> directories =
                        task.directories().stream().map(Path::of).toList();
                final List<ServiceLoader.Provider<EpFactory>> providers =
                        LoadedProvider.ofType(task.type(), directories);
                providers.forEach(provider -> ask(provider.get()));
                return providers.isEmpty() ? "class " + task.type() + " cannot be loaded" : "";
            });
        } catch (Throwable e) {
            return Expect.describe(cause(e));
        }
    }

    private static void ask(EpFactory factory) {
        factory.name();
        factory.vendor();
        factory.version();
        factory.priority();
        factory.optionKeys();
    }

    /** Returns the call that was denied, or what was thrown first. */
    private static Throwable cause(Throwable thrown) {
        final List<Throwable> causes = Expect.causes(thrown);
        return causes.stream()
                .filter(IllegalCallerException.class::isInstance)
                .findFirst()
                .orElse(causes.getLast());
    }
}
