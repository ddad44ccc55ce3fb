package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.runner.simple.Fault;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** The files of a report. */
class ConformanceReportTest {
    @TempDir
    private Path folder;

    @Test
    void whatXmlDoesNotAllowIsABlank() {
        assertThat(XmlReport.escaped("a\u0000<\ufffe\uffff")).isEqualTo("a &lt;  ");
    }

    @Test
    void aFailureIsInEveryFile() throws Exception {
        final ConformanceReport report = ConformanceRunnerTest.report(
                Fault.REUSE_BEFORE_THE_STREAM_IS_DONE,
                new ConformanceSettings(1, true, Duration.ofSeconds(60)),
                "T-0?");
        assertThat(report.passed()).isFalse();
        ReportFiles.write(report, folder);
        final String title = "Freed memory goes to no stream that has not waited";
        assertThat(folder.resolve(ReportFiles.HTML))
                .content()
                .contains("Breaks the contract", "<span class=\"id\">T-03</span> " + title + "</h3>")
                .contains("while work of the first stream may still use them")
                .doesNotContain("<script", "http://", "https://");
        assertThat(folder.resolve(ReportFiles.XML))
                .content()
                .contains("name=\"verdict\" value=\"breaks\"", "name=\"seed\" value=\"1\"");
        final StringWriter progress = new StringWriter();
        final ProgressLine line = new ProgressLine(new PrintWriter(progress));
        report.tests().forEach(line::add);
        assertThat(progress.toString())
                .contains("T-03 " + title + System.lineSeparator())
                .doesNotContain("MUST");
        final String xml = new XmlReport(report).toString();
        assertThat(DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new InputSource(new StringReader(xml)))
                        .getElementsByTagName("failure")
                        .getLength())
                .isGreaterThan(5);
        assertThat(folder.resolve(ReportFiles.PROGRAMS)).isDirectoryContaining("glob:**/T-03-Simple-gpu-0.txt");
    }
}
