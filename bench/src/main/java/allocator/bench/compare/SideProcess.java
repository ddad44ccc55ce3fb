package allocator.bench.compare;

import allocator.bench.report.ProcessLog;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** A running {@code bench/side}. It is killed when it is closed, and after five minutes. */
final class SideProcess implements Meter.Sampler {
    private static final Executor IN_FIVE_MINUTES = CompletableFuture.delayedExecutor(5, TimeUnit.MINUTES);

    private final String what;
    private final Path errors;
    private final Process process;
    private final BufferedReader output;
    private final BufferedWriter input;

    SideProcess(String what, List<String> command, List<String> jvmOptions) throws IOException {
        this.what = what;
        errors = Files.createTempFile("side", ".log");
        final ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
        if (!jvmOptions.isEmpty()) {
            builder.environment()
                    .merge("JAVA_TOOL_OPTIONS", String.join(" ", jvmOptions), (given, ours) -> given + " " + ours);
        }
        process = builder.start();
        output = process.inputReader();
        input = process.outputWriter();
        IN_FIVE_MINUTES.execute(process::destroyForcibly);
    }

    /** Reads what it prints until it ends. */
    SideProtocol.Offer readOffer() throws SideFailedException, IOException, InterruptedException {
        final List<String> lines = output.lines().toList();
        if (process.waitFor() != 0) {
            throw failed();
        }
        try {
            return SideProtocol.parseOffer(lines);
        } catch (SideFailedException e) {
            throw named(e);
        }
    }

    @Override
    public void awaitReady() throws SideFailedException, IOException, InterruptedException {
        readUntil(SideProtocol.HEADER);
        readUntil(SideProtocol.READY);
    }

    @Override
    public double nextNanos() throws SideFailedException, IOException, InterruptedException {
        try {
            input.write(SideProtocol.WINDOW);
            input.newLine();
            input.flush();
        } catch (IOException e) {
            throw failed();
        }
        final String line = readUntil(SideProtocol.NANOS);
        try {
            return SideProtocol.parseNanos(line);
        } catch (SideFailedException e) {
            throw named(e);
        }
    }

    private String readUntil(String key) throws SideFailedException, IOException, InterruptedException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (SideProtocol.isOf(key, line)) {
                return line;
            }
        }
        throw failed();
    }

    private SideFailedException named(SideFailedException e) {
        return new SideFailedException(what + ": " + e.getMessage());
    }

    private SideFailedException failed() throws IOException, InterruptedException {
        process.waitFor();
        return new SideFailedException(what + ": " + ProcessLog.cause(Files.readString(errors)) + " (exit status "
                + process.exitValue() + ")");
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly().onExit().join();
        Files.delete(errors);
    }
}
