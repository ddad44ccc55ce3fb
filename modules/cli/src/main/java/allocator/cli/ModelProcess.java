package allocator.cli;

import allocator.cli.output.Json;
import java.io.File;
import java.io.IOException;
import java.lang.module.FindException;
import java.lang.module.ModuleDescriptor.Version;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Starts JVMs that run a model with ONNX Runtime, which this process does not load: each has its own memory. */
final class ModelProcess {
    /** Names ONNX Runtime's jar, unless an option does. */
    private static final String VARIABLE = "ALLOCATOR_ONNXRUNTIME";

    private static final String NATIVE =
            "java.allocator.onnxruntime,com.microsoft.onnxruntime,java.allocator.cpu.reference,"
                    + "java.allocator.cuda.driver,jcuda";

    private final String model;
    private final String modulePath;

    /**
     * @param model the model's file
     * @param onnxRuntime ONNX Runtime's jar, {@code null} to look for it
     * @throws CommandException if there is none
     */
    ModelProcess(String model, @Nullable Path onnxRuntime) {
        this.model = model;
        final List<Path> own = ownPath();
        own.add(jar(onnxRuntime, own));
        modulePath =
                String.join(File.pathSeparator, own.stream().map(Path::toString).toList());
    }

    /** Returns the folders and jars of this command. An image of its own modules has no path; they are in the JVM. */
    private static List<Path> ownPath() {
        final List<Path> path = new ArrayList<>();
        final String modules = System.getProperty("jdk.module.path");
        if (modules != null) {
            Stream.of(modules.split(File.pathSeparator)).map(Path::of).forEach(path::add);
        }
        // The folder beside the command's lib, or beside the download's runtime.
        final Path base = modules == null ? Path.of(System.getProperty("java.home")) : path.getFirst();
        final Path doctor = base.resolveSibling("doctor");
        if (Files.isDirectory(doctor)) {
            path.add(doctor);
        }
        return path;
    }

    private static Path jar(@Nullable Path option, List<Path> own) {
        final String variable = System.getenv(VARIABLE);
        if (option != null) {
            return requireFile("--onnxruntime ", option);
        }
        if (variable != null) {
            return requireFile(VARIABLE + "=", Path.of(variable));
        }
        return own.stream()
                .flatMap(entry -> Files.isDirectory(entry) ? files(entry) : Stream.of(entry))
                .filter(file -> file.getFileName().toString().matches("onnxruntime.*\\.jar"))
                .findFirst()
                .or(() -> ofMaven(Path.of(System.getProperty("user.home"))))
                .orElseThrow(() -> new CommandException(
                        "ONNX Runtime's jar is not found: download com.microsoft.onnxruntime:onnxruntime from Maven"
                                + " Central, and name the file with --onnxruntime JAR or " + VARIABLE));
    }

    private static Path requireFile(String origin, Path jar) {
        if (!Files.isRegularFile(jar)) {
            throw new UsageException(origin + jar + ": no such file");
        }
        try {
            if (ModuleFinder.of(jar).find("com.microsoft.onnxruntime").isPresent()) {
                return jar.toAbsolutePath();
            }
        } catch (FindException _) {
            // no jar
        }
        throw new UsageException(origin + jar + ": is not the jar of ONNX Runtime");
    }

    /** Returns the newest jar of Maven's local repository. */
    private static Optional<Path> ofMaven(Path home) {
        return files(home.resolve(".m2/repository/com/microsoft/onnxruntime/onnxruntime"))
                .map(folder -> folder.resolve("onnxruntime-" + folder.getFileName() + ".jar"))
                .filter(Files::isRegularFile)
                .max(Comparator.comparing(
                        jar -> Version.parse(jar.getFileName().toString().replaceAll("^onnxruntime-|\\.jar$", ""))));
    }

    private static Stream<Path> files(Path folder) {
        final File[] files = folder.toFile().listFiles();
        return files == null ? Stream.of() : Stream.of(files).map(File::toPath).sorted();
    }

    /**
     * Runs the model in a JVM of its own, and waits for it. Returns what was measured.
     *
     * @throws UsageException if the shapes do not fit the model
     * @throws CommandException if the model cannot be run
     */
    Json run(String task, Map<String, String> settings) {
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-XX:TieredStopAtLevel=1",
                "-Xms64m",
                "--enable-native-access=" + NATIVE,
                "--module-path",
                modulePath,
                "--module",
                "java.allocator.doctor/allocator.doctor.Main",
                task,
                model));
        settings.forEach((key, value) -> command.add(key + "=" + value));
        try {
            // ONNX Runtime leaves its libraries in the folder for temporary files.
            final Path folder = Files.createTempDirectory("allocator");
            command.add(1, "-Djava.io.tmpdir=" + folder);
            try {
                return run(command, folder.resolve("errors.log"));
            } finally {
                delete(folder);
            }
        } catch (IOException e) {
            throw new CommandException(model + ": cannot be measured: " + ErrorLine.text(e), e);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private Json run(List<String> command, Path errors) throws IOException {
        final ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        builder.environment().put("ORT_DISABLE_TELEMETRY", "1");
        final Process process = builder.start();
        final String output;
        try {
            output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } finally {
            process.destroy();
        }
        final Json result;
        try {
            result = Json.read(output);
        } catch (IOException e) {
            // Java reports a failure to start on standard output.
            final String reason = Stream.concat(Files.readAllLines(errors).stream(), output.lines())
                    .filter(line -> !line.startsWith("WARNING"))
                    .limit(2)
                    .collect(Collectors.joining("; "));
            throw new CommandException(
                    model + ": the process that runs it ended with exit code "
                            + process.onExit().join().exitValue() + (reason.isEmpty() ? "" : ": " + reason),
                    e);
        }
        if (!result.fields().containsKey("error")) {
            return result;
        }
        throw Boolean.TRUE.equals(result.fields().get("usage"))
                ? new UsageException(result.text("error"))
                : new CommandException(model + ": " + result.text("error"));
    }
}
