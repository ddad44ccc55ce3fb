package allocator.bench.subject;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class SubjectTypeTest {
    @ParameterizedTest
    @EnumSource
    void aNameOnTheCommandLineNamesItsSubject(SubjectType type) {
        assertEquals(type, SubjectType.of(type.toString()));
    }

    @Test
    void anotherNameIsRefusedWithAList() {
        final Exception e = assertThrows(IllegalArgumentException.class, () -> SubjectType.of("ARENA"));

        assertTrue(String.valueOf(e.getMessage()).startsWith("no subject is called 'ARENA'; there are arena, "));
    }

    @Test
    void listsAreReadInTheirOrderEachSubjectOnce() {
        assertEquals(
                List.of(SubjectType.MALLOC, SubjectType.ARENA_SLABS),
                SubjectType.parse(List.of("malloc", "arena-slabs", "malloc")));
        assertThrows(IllegalArgumentException.class, () -> SubjectType.parse(List.of("malloc", "nosuch")));
    }

    /** Those that need no library of their own and no modules. */
    @ParameterizedTest
    @EnumSource(
            mode = Mode.INCLUDE,
            names = {
                "ARENA",
                "ARENA_SLABS",
                "ARENA_COMPACT",
                "ARENA_STREAMS",
                "NETTY_POOLED",
                "NETTY_ADAPTIVE",
                "ARROW",
                "JDK_CONFINED",
                "JDK_SHARED",
                "MALLOC"
            })
    void everySubjectServesBlocksThatCanBeWritten(SubjectType type) {
        try (Subject subject = type.open()) {
            final Slots slots = subject.slots(3);
            slots.alloc(0, 1);
            slots.alloc(2, 10_000);
            slots.alloc(1, 5 << 20);
            slots.touch(0, 1);
            slots.touch(1, 5 << 20);
            slots.free(2);
            subject.bytesHeld().ifPresent(held -> assertTrue(held >= 5 << 20, () -> "holds " + held));
            slots.alloc(2, 20);
            slots.touch(2, 20);
            for (int slot = 0; slot < 3; slot++) {
                slots.free(slot);
            }
        }
    }
}
