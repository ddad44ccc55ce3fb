package allocator.conformance.runner.process;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The command line of a Java process like this one: the same Java, options, modules and class path. */
final class JavaCommand {
    /** The heap of a process where none is given: one that is filled in seconds on any machine. */
    private static final String HEAP = "-Xmx1g";

    /** Options that belong to one process: its main class, a debugger, recordings and ports. */
    private static final List<String> OF_ONE_PROCESS = List.of(
            "-Djdk.module.main",
            "-agentlib:jdwp",
            "-Xrunjdwp",
            "-XX:StartFlightRecording",
            "-Dcom.sun.management.jmxremote",
            "-XX:ErrorFile");

    /** What decides which modules may call native code. */
    private static final List<String> NATIVE_ACCESS = List.of("--enable-native-access", "--illegal-native-access");

    private JavaCommand() {}

    /**
     * Returns the command that runs a class.
     *
     * @param main a class with a {@code main} method
     * @param kind what is different from this process
     * @param crashFile where the JVM describes its crash
     * @param arguments the arguments of {@code main}
     */
    static List<String> of(Class<?> main, ChildProcess.Kind kind, Path crashFile, String... arguments) {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        final List<String> own = ManagementFactory.getRuntimeMXBean().getInputArguments();
        // Before those of this process, which come later and so count.
        command.addAll(kind.options());
        own.stream()
                .filter(option -> OF_ONE_PROCESS.stream().noneMatch(option::startsWith))
                .filter(option ->
                        kind.hasNativeAccess() || NATIVE_ACCESS.stream().noneMatch(option::startsWith))
                .forEach(command::add);
        if (own.stream().noneMatch(JavaCommand::setsHeap)) {
            command.add(HEAP);
        }
        command.add("-XX:ErrorFile=" + crashFile);
        command.add("-XX:-CreateCoredumpOnCrash");
        final String classPath = System.getProperty("java.class.path", "");
        if (!classPath.isEmpty()) {
            command.addAll(List.of("-cp", classPath));
        }
        if (main.getModule().isNamed()) {
            command.addAll(List.of("--module", main.getModule().getName() + "/" + main.getName()));
        } else {
            command.add(main.getName());
        }
        command.addAll(List.of(arguments));
        return command;
    }

    private static boolean setsHeap(String option) {
        return Stream.of("-Xmx", "-XX:MaxHeapSize", "-XX:MaxRAM").anyMatch(option::startsWith);
    }
}
