package allocator.arena.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.testkit.FakeDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The option {@code arena.plan}, and the files that it names. */
class ArenaPlansTest {
    private static final String ACCEPTED = ArenaOptions.PLAN.accepted();

    @TempDir
    private Path folder;

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("p.csv"), text.replace(";", "\n"));
    }

    private static AllocatorOptions options(String plan, String maxMem) {
        return AllocatorOptions.of(Map.of("arena.plan", plan, "arena.max_mem", maxMem), "test");
    }

    @Test
    void callsComeInTheOrderOfTheLifetimes() throws IOException {
        final Path file = file("id,lower,upper,size,offset;b,5,9,300,0;a,0,9,1000,512;empty,1,2,0,0");
        final FakeDevice device = new FakeDevice();
        final ArenaPlans plans = ArenaPlans.from(options(file.toString(), "0"));
        final PlannedAllocator arena = new PlannedAllocator(
                new StreamArenaAllocator(new BfcArena(device, ArenaConfig.DEFAULT), AllocatorOptions.EMPTY), plans);
        final long first = arena.alloc(1000);
        assertThat(arena.alloc(300)).isEqualTo(first - 512);
        assertThat(device.requestedSizes()).containsExactly(1536L);
        assertThat(plans).hasToString(file.toString());
    }

    @Test
    void withoutTheOptionThereIsNone() {
        assertThat(ArenaPlans.from(AllocatorOptions.EMPTY)).isSameAs(ArenaPlans.NONE);
        assertThat(ArenaPlans.NONE.height()).isZero();
    }

    @Test
    void plansAboveTheLimitHaveNoEffect() throws IOException {
        final String file = file("id,lower,upper,size,offset;a,0,9,1000,512").toString();
        final AllocatorOptions above = options(file, "1535");
        assertThat(ArenaPlans.from(above).isEmpty()).isTrue();
        assertThat(ArenaOptions.applicable(ArenaOptions.KEYS, above, false)).doesNotContain(ArenaOptions.PLAN);
        final AllocatorOptions within = options(file, "1536");
        assertThat(ArenaPlans.from(within).height()).isEqualTo(1536);
        assertThat(ArenaOptions.applicable(ArenaOptions.KEYS, within, true)).contains(ArenaOptions.PLAN);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            id,lower,upper,size;a,0,9,1000              | FILE: it has no offsets, so it is no plan
            id,lower,upper,size,offset                  | FILE: it has no blocks
            id,lower,upper,size,offset;a,0,9,0,0        | FILE: it has no blocks
            id,lower,upper,size,offset;a,0,9,1000,100   | FILE: the offset 100 of block a is not a multiple of 256
            id,lower,upper,size,offset;a,0,9,1000,x     | FILE:2: offset is no number: 'x'
            id,lower,upper,size,offset;a,0,9,4611686018427387904,256 | FILE: block a ends at more than 4611686018427387904 bytes
            op,id,bytes,stream;a,0,1,0                  | FILE:1: unknown column 'op'; known: id, lower, upper, size, alignment, offset
            """)
    void aFileThatIsNoPlanIsNamed(String text, String reason) throws IOException {
        final String file = file(text).toString();
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> ArenaPlans.from(options(file, "0")))
                .withMessage(
                        "option arena.plan='" + file + "' (from test) is not usable: " + reason.replace("FILE", file));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            a.csv;a.csv | 'a.csv' is there twice
            a.csv;      | an entry is empty
            ;a.csv      | an entry is empty
            a.csv;plan  | 'plan' is none
            """)
    void anEntryThatIsNotAcceptedIsNamed(String plans, String reason) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> ArenaPlans.from(options(plans, "0")))
                .withMessage("option arena.plan='" + plans + "' (from test) is not " + ACCEPTED + ": " + reason);
    }

    /** A replay creates arenas in turn, which differ from the plan alike. */
    @Test
    void aMismatchIsLoggedOnce() {
        final String mismatch = "aMismatchIsLoggedOnce";
        assertThat(PlannedAllocator.isNew(mismatch)).isTrue();
        assertThat(PlannedAllocator.isNew(mismatch)).isFalse();
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> ArenaPlans.from(options("missing.csv", "0")))
                .withMessage("option arena.plan='missing.csv' (from test) is not usable: missing.csv: no such file");
    }

    /** The command writes plans under any name. */
    @Test
    void aPlanMayHaveAnyName() throws IOException {
        final Path file = Files.move(file("id,lower,upper,size,offset;a,0,9,1000,256"), folder.resolve("model.plan"));
        assertThat(ArenaPlans.from(options(file.toString(), "0")).height()).isEqualTo(1280);
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> ArenaPlans.from(options("0", "0")))
                .withMessageStartingWith("option arena.plan='0' (from test) is not " + ACCEPTED);
    }
}
