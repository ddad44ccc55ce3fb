package allocator.conformance.contract;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The names of tests, in words. */
class TestNameTest {
    private static String sentence(String method) {
        return TestName.of(method).orElseThrow().sentence();
    }

    @Test
    void namesReadAsSentences() {
        assertThat(sentence("required_A03_liveAllocationsDoNotOverlap")).isEqualTo("live allocations do not overlap");
        assertThat(sentence("required_T03_rmm2489_mergeOfThreeStreams")).isEqualTo("RMM #2489: merge of three streams");
        assertThat(sentence("required_O03_ort_sizesThatAreNoMultipleOf256"))
                .isEqualTo("ONNX Runtime: sizes that are no multiple of 256");
    }

    @Test
    void otherMethodsAreNotTests() {
        assertThat(TestName.of("testSomething")).isEmpty();
    }
}
