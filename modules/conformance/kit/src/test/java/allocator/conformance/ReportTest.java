package allocator.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceReport.Status;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** What a run leaves for people and for programs, and how the command answers. */
class ReportTest {
    @TempDir
    private Path folder;

    private static ConformanceReport report(Fault fault, String rules) {
        return new ConformanceRunner(
                        () -> new SimpleFactory(fault), new ConformanceSettings(1, true, Duration.ofSeconds(60)), rules)
                .run(
                        new ProviderRun.Provider(
                                () -> new SimpleFactory(fault),
                                factory -> Optional.of(((SimpleFactory) factory).device())),
                        _ -> {});
    }

    @Test
    void aFailureIsInEveryFile() throws Exception {
        final ConformanceReport report = report(Fault.REUSE_BEFORE_THE_STREAM_IS_DONE, "T-0?");
        assertThat(report.passed()).isFalse();
        ReportFiles.write(report, folder);
        assertThat(folder.resolve(ReportFiles.HTML))
                .content()
                .contains("Does not conform", "T-03", "while work of the first stream may still use them")
                .doesNotContain("<script", "http://", "https://");
        assertThat(folder.resolve(ReportFiles.JSON)).content().contains("\"conforms\": false", "\"seed\": 1");
        final String xml = new XmlReport(report).toString();
        assertThat(DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new InputSource(new StringReader(xml)))
                        .getElementsByTagName("failure")
                        .getLength())
                .isGreaterThan(5);
        assertThat(folder.resolve(ReportFiles.PROGRAMS)).isDirectoryContaining("glob:**/T-03-Simple-gpu-0.txt");
    }

    @Test
    void onlyTheRulesAskedForRun() {
        final ConformanceReport report = report(Fault.NONE, "m-02, H-*");
        assertThat(report.rules()).extracting(ConformanceReport.RuleResult::id).containsExactly("M-02", "H-01", "H-02");
        assertThat(report.rules()).allMatch(rule -> rule.status() == Status.PASSED);
    }

    @Test
    void aWrongCallIsOneLine() {
        assertThat(err("--provider")).isEqualTo("error: --provider needs a value; try --help\n");
        assertThat(err("--seed", "x")).isEqualTo("error: --seed needs a whole number, not 'x'\n");
        assertThat(err("--bogus")).contains("unknown option --bogus");
        assertThat(err("--providers-dir", folder.toString())).contains("there is no module in");
        assertThat(err()).contains("no provider found on the module path");
    }

    private static String err(String... arguments) {
        final StringWriter err = new StringWriter();
        assertThat(Main.run(new PrintWriter(new StringWriter()), new PrintWriter(err), arguments))
                .isEqualTo(Main.USAGE);
        return err.toString();
    }

    @Test
    void helpIsAsked() {
        final StringWriter out = new StringWriter();
        assertThat(Main.run(new PrintWriter(out), new PrintWriter(new StringWriter()), "--help"))
                .isZero();
        assertThat(out.toString()).contains("--replay FILE");
    }
}
