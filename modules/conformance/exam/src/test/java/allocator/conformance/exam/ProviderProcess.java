package allocator.conformance.exam;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** Runs the command of the kit on the jar of a provider, as a vendor would. */
final class ProviderProcess {
    /** The root of the checkout whose kit is examined. */
    private static final Path ROOT = Path.of(System.getProperty("allocator.exam.kit", "../../.."));

    private static final int MINUTES = 12;

    private ProviderProcess() {}

    /**
     * What the command came to.
     *
     * @param exitCode 0 if the provider conforms, 1 if it breaks a rule, 2 or 3 if it could not be tested
     * @param findings the tests that failed
     * @param output what was printed
     */
    record Outcome(int exitCode, List<Finding> findings, String output) {}

    /** Returns the jars of the kit and of what it needs. */
    static List<Path> kit() throws IOException {
        final Path modules = ROOT.resolve("modules");
        final Path runner = modules.resolve("conformance/runner/target");
        try (Stream<Path> libraries = Files.list(runner.resolve("lib"))) {
            return Stream.concat(
                            libraries.sorted(),
                            Stream.of(
                                    runner.resolve("java-allocator-conformance-runner.jar"),
                                    modules.resolve("provider-support/target/java-allocator-provider-support.jar")))
                    .toList();
        }
    }

    private static String modulePath() throws IOException {
        return kit().stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    /**
     * Runs the command.
     *
     * @param folder holds the jar and nothing else
     * @param work a folder for the report
     * @param options such as {@code --quick}
     */
    static Outcome run(Path folder, Path work, List<String> options) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-p",
                modulePath(),
                "--add-modules",
                "java.allocator.provider.support",
                "--enable-native-access=java.allocator.conformance.runner,java.allocator.provider.support",
                "-m",
                "java.allocator.conformance.runner/allocator.conformance.runner.Main",
                "--providers-dir",
                folder.toString(),
                "--report",
                work.resolve("report").toString()));
        command.addAll(options);
        final Path log = work.resolve("log");
        final Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
            return new Outcome(-1, List.of(), "the kit did not end within " + MINUTES + " minutes");
        }
        final Path results = work.resolve("report/TEST-conformance.xml");
        return new Outcome(
                process.exitValue(), Files.exists(results) ? findings(results) : List.of(), Files.readString(log));
    }

    private static List<Finding> findings(Path results) throws IOException {
        final List<Finding> findings = new ArrayList<>();
        try {
            final NodeList failures = DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(results.toFile())
                    .getElementsByTagName("failure");
            for (int i = 0; i < failures.getLength(); i++) {
                final Element test = (Element) failures.item(i).getParentNode();
                findings.add(new Finding(
                        test.getAttribute("classname").replace("conformance.", ""),
                        test.getAttribute("name"),
                        ((Element) failures.item(i)).getAttribute("message")));
            }
        } catch (ParserConfigurationException | SAXException e) {
            throw new IOException("the report cannot be read", e);
        }
        return findings;
    }
}
