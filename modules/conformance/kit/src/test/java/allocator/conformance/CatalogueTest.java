package allocator.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Every rule of the contract has a test or a reason, and the page says which. */
class CatalogueTest {
    private static final Path DOCS = Path.of("../../docs");

    @Test
    void everyRuleIsTestedOrSaidToBeUntested() {
        final Set<String> known = new HashSet<>(Catalogue.tests().keySet());
        assertThat(known).doesNotContainAnyElementsOf(Catalogue.untested().keySet());
        known.addAll(Catalogue.untested().keySet());
        assertThat(known)
                .containsExactlyInAnyOrderElementsOf(
                        Contract.rules().stream().map(Contract.Rule::id).toList());
    }

    @Test
    void thePageIsMadeFromTheCode() throws IOException {
        final Path page = DOCS.resolve("conformance.md");
        final Path made = Path.of("target/conformance.md");
        Files.writeString(made, Catalogue.page());
        assertThat(Files.readString(page)).as("copy %s to %s", made, page).isEqualTo(Catalogue.page());
    }

    @Test
    void theModuleHasItsName() {
        assertThat(AllocatorConformance.class.getModule().getName()).isEqualTo("java.allocator.conformance");
    }

    @Test
    void namesReadAsSentences() {
        assertThat(TestName.of("required_A03_liveAllocationsDoNotOverlap")
                        .orElseThrow()
                        .sentence())
                .isEqualTo("live allocations do not overlap");
        assertThat(TestName.of("required_T03_rmm2489_mergeOfThreeStreams")
                        .orElseThrow()
                        .sentence())
                .isEqualTo("RMM #2489: merge of three streams");
        assertThat(TestName.of("required_O03_ort_sizesThatAreNoMultipleOf256")
                        .orElseThrow()
                        .sentence())
                .isEqualTo("ONNX Runtime: sizes that are no multiple of 256");
        assertThat(TestName.of("testSomething")).isEmpty();
    }
}
