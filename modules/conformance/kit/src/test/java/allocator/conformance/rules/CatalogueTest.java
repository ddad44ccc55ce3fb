package allocator.conformance.rules;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.contract.Contract;
import allocator.conformance.contract.UntestedRules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Every rule of the contract has a test or a reason to have none, and {@code docs/conformance.md} lists them. */
class CatalogueTest {
    private static final Path DOCS = Path.of("../../../docs");

    @Test
    void everyRuleIsTestedOrListedAsUntested() {
        final Set<String> known = new HashSet<>(Catalogue.tests().keySet());
        assertThat(known).doesNotContainAnyElementsOf(UntestedRules.reasons().keySet());
        known.addAll(UntestedRules.reasons().keySet());
        assertThat(known)
                .containsExactlyInAnyOrderElementsOf(
                        Contract.rules().stream().map(Contract.Rule::id).toList());
    }

    @Test
    void everyRuleHasATitleOfOneLine() {
        assertThat(Contract.rules())
                .allSatisfy(rule -> assertThat(rule.title()).as(rule.id()).matches("[A-Z][^.*`\\n]{5,69}"));
        assertThat(Contract.rules()).extracting(Contract.Rule::title).doesNotHaveDuplicates();
    }

    @Test
    void aRuleHasAtMostSixtyWords() {
        assertThat(Contract.rules())
                .allSatisfy(rule -> assertThat(rule.text().split("\\s+"))
                        .as("%s: exceptions and examples belong to contract-cases.md", rule.id())
                        .hasSizeLessThanOrEqualTo(60));
    }

    @Test
    void casesAreOfRulesAndInTheirOrder() throws IOException {
        final List<String> cases = Files.readAllLines(DOCS.resolve("contract-cases.md")).stream()
                .filter(line -> line.startsWith("### "))
                .map(line -> line.substring(4))
                .toList();
        assertThat(Contract.rules().stream().map(Contract.Rule::id).filter(cases::contains))
                .containsExactlyElementsOf(cases);
    }

    @Test
    void thePageIsGeneratedFromTheCode() throws IOException {
        final Path page = DOCS.resolve("conformance.md");
        final Path made = Path.of("target/conformance.md");
        Files.createDirectories(made.getParent());
        Files.writeString(made, Catalogue.page());
        assertThat(Files.readString(page)).as("copy %s to %s", made, page).isEqualTo(Catalogue.page());
    }

    @Test
    void theModuleHasItsName() {
        assertThat(AllocatorConformance.class.getModule().getName()).isEqualTo("java.allocator.conformance");
    }
}
