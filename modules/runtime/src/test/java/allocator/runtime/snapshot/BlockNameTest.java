package allocator.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BlockNameTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "/l.3/Mul (Mul, activation)                 | /l.3/Mul    | Mul        | activation    | ''",
                "/l.3/Add (Add, scratch) at a.B.c(B.java:4) | /l.3/Add | Add        | scratch       | a.B.c(B.java:4)",
                "weights (packed weight)                    | weights     | ''         | packed weight | ''",
                "an (odd) x at y (Add, output) at a.B.c     | an (odd) x at y | Add    | output        | a.B.c",
                "Add, of two (Add, output)                  | Add, of two | Add        | output        | ''",
                "a (of, x, Add, output)                     | a           | of, x, Add | output        | ''"
            })
    void theFrameOfAnOperatorHasParts(String frame, String node, String operator, String kind, String line) {
        final BlockName name = BlockName.of(frame);
        assertThat(name).isEqualTo(new BlockName(node, operator, kind, line));
        assertThat(name).hasToString(frame);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "a.B.c(B.java:42)",
                "a.B.c(unknown source)",
                "a thread of ONNX Runtime",
                " (Add, activation)",
                "a (Add, activation",
                "a (Add, activation) and more",
                "a (Add, activation)at b",
                "(",
                ")",
                " (",
                "a) ("
            })
    void anyOtherFrameIsALine(String frame) {
        assertThat(BlockName.of(frame)).isEqualTo(new BlockName("", "", "", frame));
        assertThat(BlockName.of(frame)).hasToString(frame);
        assertThat(BlockName.of(frame).layer()).isEmpty();
    }

    @Test
    void aNameAndALineAreJoined() {
        assertThat(BlockName.join("a (Add, output)", "b.C.d(C.java:1)"))
                .isEqualTo("a (Add, output) at b.C.d(C.java:1)");
        assertThat(BlockName.join("", "b.C.d(C.java:1)")).isEqualTo("b.C.d(C.java:1)");
        assertThat(BlockName.join("a (Add, output)", "")).isEqualTo("a (Add, output)");
    }

    @ParameterizedTest
    @CsvSource({
        "/m/encoder/layer.0/attention/MatMul, /m/encoder/layer.0",
        "h.11/Add, h.11",
        "/m/embeddings/Gather_1, /m/embeddings",
        "/Flatten, /Flatten",
        "Conv_12, Conv_12",
        "a/b1/c/, a/b1"
    })
    void layersArePrefixesOfNames(String node, String layer) {
        assertThat(new BlockName(node, "", "activation", "").layer()).isEqualTo(layer);
    }
}
