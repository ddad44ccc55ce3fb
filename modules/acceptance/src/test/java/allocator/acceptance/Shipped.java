package allocator.acceptance;

import static java.util.stream.Collectors.joining;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * What is shipped, and what its users make of it outside the reactor: a program that does {@code Day}'s work, and jars
 * of two vendors.
 */
@SuppressWarnings("UnnecessaryLambda") // predicates with names
final class Shipped {
    /** The root of the checkout. */
    static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    /** The sources of users, in this module. */
    static final Path PROGRAMS = Path.of("programs").toAbsolutePath();

    private static final String OWN = "java-allocator-";

    /** What an application cannot do without, and what a parent loader can have. */
    private static final Predicate<Path> IS_RUNTIME =
            jar -> name(jar).matches(OWN + "(spi|provider-support|runtime)\\.jar");

    /** What an application has that tests with the simulated device. */
    private static final Predicate<Path> IS_DEVICE =
            jar -> name(jar).matches(OWN + "(jcuda|cuda-driver|cuda-simulated)\\.jar");

    private static final Predicate<Path> IS_COMMAND =
            jar -> name(jar).matches(OWN + "(cli|conformance.*|trace|view|planner|onnxruntime.*)\\.jar");

    private static final Predicate<Path> IS_BRIDGE = jar -> name(jar).matches(OWN + "onnxruntime\\.jar|onnxruntime-.*");

    private static Shipped shipped;

    /** What is made here, a folder that every user of the machine can read. */
    final Path folder;

    /** The published jars that a program with every provider needs. */
    final List<Path> jars;

    final Path day;
    final Path buddy;
    final Path vendorGpu;

    private Shipped() throws IOException {
        folder = Path.of("target", "shipped").toAbsolutePath();
        clear(folder);
        jars = classPath().stream()
                .filter(jar -> name(jar).startsWith(OWN))
                .filter(IS_COMMAND.negate())
                .toList();
        if (jars.isEmpty()) {
            throw new IllegalStateException("the jars are not built: run these tests with ./mvnw verify");
        }
        day = jar("day", PROGRAMS.resolve("day"), path(jars));
        vendorGpu = jar("vendor-gpu", PROGRAMS.resolve("vendor"), path(jars));
        buddy = jar("buddy", ROOT.resolve("modules/conformance/kit/samples/buddy/src/main"), path(jars));
    }

    /** Returns what is made once in a JVM. */
    static synchronized Shipped get() {
        if (shipped == null) {
            try {
                shipped = new Shipped();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return shipped;
    }

    /** Returns the jars of the runtime. */
    List<Path> runtime() {
        return jars.stream().filter(IS_RUNTIME).toList();
    }

    /** Returns the jars of the simulated device. */
    List<Path> device() {
        return jars.stream().filter(IS_DEVICE).toList();
    }

    /** Returns the shipped jars of providers, with all that they need beside the runtime, and those of vendors. */
    List<Path> providers() {
        return Stream.concat(jars.stream().filter(IS_RUNTIME.negate()), Stream.of(buddy, vendorGpu))
                .toList();
    }

    /** Returns everything: the program, the runtime, the providers. */
    List<Path> all() {
        return Stream.of(List.of(day), runtime(), providers())
                .flatMap(List::stream)
                .toList();
    }

    /** Returns the jars of ONNX Runtime and the bridge to it. */
    List<Path> bridge() {
        return classPath().stream().filter(IS_BRIDGE).toList();
    }

    /** Returns the published jars with those of the bridge, one path to compile against. */
    List<Path> withBridge() {
        return Stream.concat(jars.stream(), bridge().stream()).toList();
    }

    /** Returns the jars and folders on the class path of these tests. */
    static List<Path> classPath() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .map(Path::of)
                .filter(Files::isRegularFile)
                .toList();
    }

    /** Returns the jars as one path. */
    static String path(List<Path> jars) {
        return jars.stream().map(Path::toString).collect(joining(File.pathSeparator));
    }

    /** Makes a folder with copies of jars. */
    Path folder(String name, List<Path> jars) throws IOException {
        final Path made = Files.createDirectories(folder.resolve(name));
        for (final Path jar : jars) {
            Files.copy(jar, made.resolve(jar.getFileName()));
        }
        return made;
    }

    /** Compiles a folder of sources as a user does, with its module, and makes a jar. */
    Path jar(String name, Path sources, String path) throws IOException {
        final Path classes = folder.resolve("classes").resolve(name);
        final List<Path> files;
        try (Stream<Path> all = Files.walk(sources)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        final List<Path> java =
                files.stream().filter(file -> name(file).endsWith(".java")).toList();
        final boolean isModule = java.stream().anyMatch(file -> file.endsWith("module-info.java"));
        run("javac", "-d", classes, isModule ? "-p" : "-cp", path, java);
        for (final Path file : files) {
            final int services = file.toString().indexOf("META-INF");
            if (services >= 0) {
                final Path copy = classes.resolve(file.toString().substring(services));
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy);
            }
        }
        final Path jar = folder.resolve(name + ".jar");
        run("jar", "--create", "--file", jar, "-C", classes, ".");
        return jar;
    }

    /** Runs a tool of the JDK, and fails with its output unless it succeeds. */
    static void run(String tool, Object... arguments) {
        final List<String> texts = new ArrayList<>();
        for (final Object argument : arguments) {
            if (argument instanceof List<?> several) {
                several.forEach(one -> texts.add(one.toString()));
            } else {
                texts.add(argument.toString());
            }
        }
        final StringWriter output = new StringWriter();
        final int code = ToolProvider.findFirst(tool)
                .orElseThrow()
                .run(new PrintWriter(output), new PrintWriter(output), texts.toArray(String[]::new));
        if (code != 0) {
            throw new IllegalStateException(tool + ": " + output);
        }
    }

    private static String name(Path file) {
        return file.getFileName().toString();
    }

    private static void clear(Path folder) throws IOException {
        if (Files.exists(folder)) {
            final List<Path> files;
            try (Stream<Path> all = Files.walk(folder)) {
                files = all.toList();
            }
            for (final Path file : files.reversed()) {
                Files.delete(file);
            }
        }
        Files.createDirectories(folder);
    }
}
