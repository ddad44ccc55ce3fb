package allocator.conformance.exam;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How edits are written and applied. */
class EditTest {
    private static final String TEXT = """
            A comment.
            @wrong rounds-down
            @rule A-03 A-09
            @why a size is rounded down
            @in A.java
            @old
            round up
            @new
            round down
            @in New.java
            @old
            @new
            class New {}
            @end
            """;

    @Test
    void anEditIsRead() {
        final Edit edit = Edit.parse("slab", TEXT).getFirst();
        assertThat(edit.name()).isEqualTo("slab/rounds-down");
        assertThat(edit.isWrong()).isTrue();
        assertThat(edit.rules()).containsExactly("A-03", "A-09");
        assertThat(edit.why()).isEqualTo("a size is rounded down");
        assertThat(edit.changes())
                .containsExactly(
                        new Edit.Change("A.java", "round up", "round down"),
                        new Edit.Change("New.java", "", "class New {}"));
    }

    @Test
    void anEditIsApplied() {
        final Edit edit = Edit.parse("slab", TEXT).getFirst();
        final ExamProvider provider = new ExamProvider("slab", Map.of("A.java", "x\nround up\ny\n"), List.of(edit));
        assertThat(provider.edited(edit))
                .containsExactlyInAnyOrderEntriesOf(Map.of("A.java", "x\nround down\ny\n", "New.java", "class New {}"));
    }

    @Test
    void anOldTextThatIsThereTwiceIsRejected() {
        final Edit edit = Edit.parse("slab", TEXT).getFirst();
        final ExamProvider provider = new ExamProvider("slab", Map.of("A.java", "round up\nround up\n"), List.of(edit));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> provider.edited(edit))
                .withMessageContaining("exactly once");
    }

    @Test
    void anEditWithoutARuleIsRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Edit.parse("slab", TEXT.replace("@rule A-03 A-09\n", "")))
                .withMessageContaining("needs a name");
    }
}
