package allocator.conformance.runner;

import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.output.WholeFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Writes the files of a report to a directory; each of them is whole or not there. */
final class ReportFiles {
    static final String HTML = "report.html";
    static final String XML = "TEST-conformance.xml";
    static final String PROGRAMS = "programs";

    /** The files that a report always has. */
    static final List<String> ALL = List.of(HTML, XML);

    private ReportFiles() {}

    static void write(ConformanceReport report, Path directory) throws IOException {
        Files.createDirectories(directory);
        WholeFile.write(directory.resolve(HTML), new HtmlReport(report).toString());
        WholeFile.write(directory.resolve(XML), new XmlReport(report).toString());
        for (final TestResult test : report.tests()) {
            if (test.status() == Status.FAILED && !test.program().isEmpty()) {
                Files.createDirectories(directory.resolve(PROGRAMS));
                WholeFile.write(directory.resolve(PROGRAMS).resolve(programName(test)), test.program());
            }
        }
    }

    /** Returns the file name of a failed test's program, such as {@code A-03-Simple-gpu-0.txt}. */
    static String programName(TestResult test) {
        final String rule = TestName.of(test.name()).map(TestName::rule).orElse("");
        return rule + "-" + test.memory().replaceAll("[^A-Za-z0-9]+", "-").replaceAll("-$", "") + ".txt";
    }
}
