package allocator.bench.pairs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Programs that measure in turn, each in a process of its own. A program measures while the others wait for their
 * turns, so what slows the machine for a second slows all of them alike.
 *
 * <p>A program prints {@value #READY} when it waits for a turn, and reads a line when it has one. It prints its figures
 * to the standard output, and ends.
 */
public final class Turns {
    private static final String READY = "ready";

    private final PrintStream out;
    private final BufferedReader in;

    /**
     * Creates the side of a program.
     *
     * @param out where the program prints
     * @param in from where it receives its turns
     */
    public Turns(PrintStream out, BufferedReader in) {
        this.out = out;
        this.in = in;
    }

    /**
     * Waits for the next turn, which lasts until the next call.
     *
     * @throws IOException if there is none, as the other side has ended
     */
    public void next() throws IOException {
        out.println(READY);
        out.flush();
        if (in.readLine() == null) {
            throw new IOException("there are no more turns");
        }
    }

    /**
     * Runs programs in turn. All are ended if one fails or takes too long, or the calling thread is interrupted.
     *
     * @param programs their commands and environments, by what they measure
     * @param longestMinutes the most minutes that they may take together, above zero
     * @return what each printed, in the order of the programs
     * @throws IOException if one cannot be started, fails, or takes longer
     * @throws InterruptedException if the thread is interrupted
     */
    public static <K> Map<K, List<String>> run(Map<K, ProcessBuilder> programs, int longestMinutes)
            throws IOException, InterruptedException {
        final Map<K, Running> running = new LinkedHashMap<>();
        final AtomicBoolean isLate = new AtomicBoolean();
        try {
            for (final Map.Entry<K, ProcessBuilder> program : programs.entrySet()) {
                running.put(program.getKey(), new Running(program.getKey().toString(), program.getValue()));
            }
            CompletableFuture.delayedExecutor(longestMinutes, TimeUnit.MINUTES).execute(() -> {
                isLate.set(true);
                running.values().forEach(Running::end);
            });
            boolean isAnyReady = true;
            while (isAnyReady) {
                isAnyReady = false;
                for (final Running one : running.values()) {
                    isAnyReady |= one.takeTurn();
                }
            }
            final Map<K, List<String>> lines = new LinkedHashMap<>();
            running.forEach((key, one) -> lines.put(key, one.lines));
            return lines;
        } catch (IOException e) {
            throw isLate.get() ? new IOException("not done after " + longestMinutes + " minutes", e) : e;
        } finally {
            for (final Running one : running.values()) {
                one.remove();
            }
        }
    }

    /** A program that was started. */
    private static final class Running {
        private final String name;
        private final Path log;
        private final Process process;
        private final List<String> lines = new ArrayList<>();
        private boolean isWaiting;
        private boolean hasEnded;

        Running(String name, ProcessBuilder program) throws IOException {
            this.name = name;
            log = Files.createTempFile("measuring", ".log");
            boolean hasStarted = false;
            try {
                process = program.redirectError(log.toFile()).start();
                hasStarted = true;
            } finally {
                if (!hasStarted) {
                    Files.delete(log);
                }
            }
        }

        /** Gives a turn, and waits until it is over; returns whether the program waits for another one. */
        boolean takeTurn() throws IOException, InterruptedException {
            if (hasEnded) {
                return false;
            }
            if (isWaiting) {
                final Writer input = process.outputWriter();
                input.write('\n');
                input.flush();
                isWaiting = false;
            }
            final BufferedReader output = process.inputReader();
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                if (line.equals(READY)) {
                    isWaiting = true;
                    return true;
                }
                lines.add(line);
            }
            hasEnded = true;
            if (process.waitFor() != 0) {
                throw new IOException(name + ": " + Launcher.cause(Files.readString(log)));
            }
            return false;
        }

        void end() {
            process.destroy();
        }

        /** Ends the program, unless it has ended. */
        void remove() throws IOException, InterruptedException {
            end();
            process.waitFor();
            Files.delete(log);
        }
    }
}
