package allocator.arena;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The stack ends inside the arena: no lock stays locked, and nothing in use is handed out. {@code BumpStackEndTest} is
 * about a bump allocator.
 */
class StackEndTest {
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BUMP")
    void aCallThatOverflowsLeavesNoLockAndTheNextRepairsTheArena(ArenaSubject.Kind kind) {
        StackExhaustion.run(kind);
    }

    /** Interpreted frames are large, so that other calls are the last ones. */
    @ParameterizedTest
    @Tag("thorough")
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BUMP")
    void anInterpretedCallThatOverflowsLeavesNoLockAndTheNextRepairsTheArena(ArenaSubject.Kind kind) throws Exception {
        OwnJvm.run(StackExhaustion.class, List.of("-Xint"), kind.name());
    }

    /** A compiler that inlines little makes many calls. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BUMP")
    @Tag("thorough")
    void aCallOfManyFramesThatOverflowsLeavesNoLockAndTheNextRepairsTheArena(ArenaSubject.Kind kind) throws Exception {
        OwnJvm.run(StackExhaustion.class, List.of("-XX:TieredStopAtLevel=1"), kind.name());
    }
}
