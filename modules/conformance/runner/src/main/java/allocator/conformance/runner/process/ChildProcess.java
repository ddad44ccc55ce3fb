package allocator.conformance.runner.process;

import allocator.conformance.runner.output.WholeFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A Java process like this one. It gets one object on its standard input and answers in a {@link Journal}, so that what
 * it prints cannot be mistaken for an answer. It ends with this process.
 */
public final class ChildProcess implements AutoCloseable {
    /** What is different from this process. */
    public enum Kind {
        /** Nothing. */
        ALIKE,
        /** It lives for seconds: code is compiled once, and not again when much of it is hot. */
        BRIEF,
        /** As {@link #BRIEF}, and no module may call native code, whatever the options of this process say. */
        WITHOUT_NATIVE_ACCESS;

        List<String> options() {
            return switch (this) {
                case ALIKE -> List.of();
                case BRIEF -> List.of("-XX:TieredStopAtLevel=1");
                case WITHOUT_NATIVE_ACCESS -> List.of("-XX:TieredStopAtLevel=1", "--illegal-native-access=deny");
            };
        }

        boolean hasNativeAccess() {
            return this != WITHOUT_NATIVE_ACCESS;
        }
    }

    /** How much of what the process printed last is kept. */
    private static final int KEPT_BYTES = 4096;

    private static final Duration POLL = Duration.ofMillis(5);

    private final Path folder;
    private final Path crashFile;
    private final Process process;
    private final Journal journal;
    private final Thread killer;
    private final Thread reader;
    private final byte[] kept = new byte[KEPT_BYTES];
    private long printed;

    private ChildProcess(Path folder, Path crashFile, Process process, Journal journal) {
        this.folder = folder;
        this.crashFile = crashFile;
        this.process = process;
        this.journal = journal;
        killer = new Thread(this::abandon, "end of a child process");
        reader = Thread.ofPlatform().daemon().name("output of a child process").unstarted(this::readOutput);
    }

    /**
     * Starts a process.
     *
     * @param main a class with a {@code main} method, whose only argument is the file of the journal
     * @param kind what is different from this process
     * @param input the object that it reads from its standard input
     * @throws IOException if no process can be started, or no temporary file written
     */
    public static ChildProcess start(Class<?> main, Kind kind, Serializable input) throws IOException {
        final Path folder = temporaryFolder();
        final Path journalFile = folder.resolve("journal");
        final Path crashFile = folder.resolve("crash.log");
        final ProcessBuilder builder = new ProcessBuilder(JavaCommand.of(main, kind, crashFile, journalFile.toString()))
                .redirectErrorStream(true);
        // They are among the options of this process already.
        builder.environment().remove("JDK_JAVA_OPTIONS");
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        final ChildProcess child = new ChildProcess(folder, crashFile, builder.start(), Journal.read(journalFile));
        Runtime.getRuntime().addShutdownHook(child.killer);
        child.reader.start();
        child.send(input);
        return child;
    }

    private static Path temporaryFolder() throws IOException {
        try {
            return Files.createTempDirectory("allocator-conformance");
        } catch (IOException e) {
            throw noTemporaryFile(e);
        }
    }

    /**
     * Checks that the journal can grow. If not, a process that ended may have done so for want of it. To be called when
     * the process has ended.
     *
     * @throws IOException if not
     */
    public void requireJournal() throws IOException {
        try {
            journal.requireRoom();
        } catch (IOException e) {
            throw noTemporaryFile(e);
        }
    }

    private static IOException noTemporaryFile(IOException cause) {
        final String folder = System.getProperty("java.io.tmpdir");
        return new IOException("no temporary file can be written to " + folder + ": " + WholeFile.reason(cause), cause);
    }

    private void send(Serializable input) {
        try {
            final OutputStream out = process.getOutputStream();
            // Not closed: the end of its input tells the process that this one has ended.
            final ObjectOutputStream objects = new ObjectOutputStream(out);
            objects.writeObject(input);
            objects.flush();
        } catch (IOException _) {
            // The process ended at once; that is seen by those who wait for its messages.
        }
    }

    private void readOutput() {
        final byte[] buffer = new byte[1 << 16];
        try (InputStream in = process.getInputStream()) {
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                keep(buffer, count);
            }
        } catch (IOException _) {
            // The process ended.
        }
    }

    private synchronized void keep(byte[] bytes, int count) {
        for (int i = Math.max(0, count - KEPT_BYTES); i < count; i++) {
            kept[(int) ((printed + i) % KEPT_BYTES)] = bytes[i];
        }
        printed += count;
    }

    /** Returns how many bytes the process has printed. */
    public synchronized long printed() {
        return printed;
    }

    /** Returns the end of what the process has printed. */
    public synchronized String lastPrinted() {
        final int count = (int) Math.min(printed, KEPT_BYTES);
        final byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = kept[(int) ((printed - count + i) % KEPT_BYTES)];
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Returns the messages since the last call; waits a moment if there are none. After the process has ended, an empty
     * list means that there will be no more.
     */
    public List<Object> messages() throws IOException, InterruptedException {
        final boolean hadEnded = !process.isAlive();
        final List<Object> messages = journal.next();
        if (messages.isEmpty() && !hadEnded) {
            process.waitFor(POLL.toNanos(), TimeUnit.NANOSECONDS);
        }
        return messages;
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the process at once, and the processes that it has started. */
    public void kill() throws InterruptedException {
        destroyWithDescendants();
        process.waitFor();
    }

    private void destroyWithDescendants() {
        final List<ProcessHandle> descendants = process.descendants().toList();
        process.destroyForcibly();
        descendants.forEach(ProcessHandle::destroyForcibly);
    }

    /** To be called by a child process: ends it at once, and the processes that it has started, without its hooks. */
    public static void halt(int exitCode) {
        destroyDescendants();
        Runtime.getRuntime().halt(exitCode);
    }

    /** Ends the processes that this one has started. */
    public static void destroyDescendants() {
        ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    }

    /** Returns how the process ended, in words. Waits for its end. */
    public String end() throws InterruptedException {
        process.waitFor();
        reader.join(Duration.ofSeconds(1));
        return new ProcessEnd(process.exitValue(), crashFile, lastPrinted()).toString();
    }

    @Override
    public void close() {
        destroyWithDescendants();
        Runtime.getRuntime().removeShutdownHook(killer);
        try {
            process.waitFor();
            journal.close();
            delete();
        } catch (IOException _) {
            // The system clears its temporary files.
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends the process because this one ends, and leaves nothing behind. */
    private void abandon() {
        try {
            kill();
            delete();
        } catch (IOException | InterruptedException _) {
            // The system clears its temporary files.
        }
    }

    private void delete() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
