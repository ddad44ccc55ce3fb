package allocator.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The command with its own Java, as {@code modules/release/download/make} lays it out, with the jars of vendors in it.
 */
final class Download {
    private static final Path COMMAND = Shipped.ROOT.resolve("modules/cli/target/distribution");

    private static Download made;

    /** The folder that is unpacked. */
    final Path folder;

    private Download(Shipped shipped) throws IOException {
        folder = shipped.folder.resolve("download");
        final Stream<Path> simulated =
                shipped.jars.stream().filter(jar -> jar.endsWith("java-allocator-cuda-simulated.jar"));
        Shipped.run(
                "jlink",
                "--module-path",
                Shipped.path(Stream.concat(simulated, Stream.of(shipped.day, shipped.buddy, shipped.vendorGpu, jars()))
                        .toList()),
                "--output",
                folder.resolve("runtime"),
                "--add-modules",
                "com.example.day,com.example.buddy,com.example.gpu,java.allocator.cuda.simulated",
                "--add-modules",
                "java.allocator.cli,java.allocator.cpu.reference,java.allocator.cuda.arena,java.allocator.cuda.mempool",
                "--add-modules",
                "org.apache.logging.log4j.core,org.apache.logging.log4j.jpl,org.junit.jupiter.engine",
                "--add-modules",
                "java.management,jdk.jfr,jdk.management,jdk.unsupported",
                "--compress",
                "zip-0",
                "--no-header-files",
                "--no-man-pages");
        Files.createDirectories(folder.resolve("bin"));
        Files.createDirectories(folder.resolve("providers"));
        Files.copy(Shipped.ROOT.resolve("modules/release/download/src/allocator"), folder.resolve("bin/allocator"));
        Files.copy(COMMAND.resolve("java.args"), folder.resolve("java.args"));
    }

    /** Returns what is made once in a JVM. */
    static synchronized Download of(Shipped shipped) throws IOException {
        if (made == null) {
            made = new Download(shipped);
        }
        return made;
    }

    /** Returns the jars of the command, a folder. */
    static Path jars() {
        return COMMAND.resolve("lib");
    }

    /** Returns its Java. */
    String java() {
        return folder.resolve("runtime/bin/java").toString();
    }

    /** Returns the command with its arguments, as a user types it. */
    List<String> command(String... arguments) {
        return Stream.concat(Stream.of("sh", folder.resolve("bin/allocator").toString()), Stream.of(arguments))
                .toList();
    }
}
