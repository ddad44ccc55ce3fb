package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.testkit.Share;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotFileTest {
    @TempDir
    private Path folder;

    private static Snapshot sample() {
        final AllocatorSnapshot memory = new AllocatorSnapshot(
                List.of(
                        Snapshots.region(
                                0x7f00_0000_0000L,
                                5,
                                State.LIVE,
                                512,
                                State.WAITING,
                                256,
                                State.CACHED,
                                256,
                                State.FREE,
                                1024),
                        Snapshots.region(-4096, 0, State.LIVE, 256, State.UNMAPPED, 512, State.PINNED, 256)),
                List.of(new Chunk(0x10_0000, 77, 77, State.LIVE, 0), new Chunk(0x20_0000, 99, 0, State.UNRETURNED, 0)));
        return Snapshots.of(
                Snapshots.failure(4096, 1000, 500, 900, 10),
                memory,
                Map.of(0x7f00_0000_0000L, new Site("bert", "com.example.Model.load(Model.java:42)", 1500, 511)));
    }

    /** One line, without names of classes, tokens and sources. */
    private static void speaksToAUser(SnapshotException e) {
        assertThat(e.getMessage())
                .doesNotContain("\n", "Source", "allocator.spi", "Exception", "START_", "VALUE_", "END_", "java.lang");
    }

    @Test
    void whatIsWrittenIsReadBack() throws IOException {
        final Path file = Snapshots.write(sample(), folder.resolve("snapshot.json"));
        assertThat(SnapshotFile.looksLikeOne(file)).isTrue();
        assertThat(SnapshotFile.read(file)).isEqualTo(sample());
    }

    @Test
    void aReportOfLeaksIsReadBack() throws IOException {
        final Snapshot report = Snapshots.of(null, AllocatorSnapshot.EMPTY, Map.of());
        assertThat(report.leaks()).isNotNull();
        assertThat(SnapshotFile.read(Snapshots.write(report, folder.resolve("leaks.json"))))
                .isEqualTo(report);
    }

    @Test
    void theBudgetThatRejectedARequestIsReadBackAndMayBeAbsent() throws IOException {
        final Snapshot snapshot =
                Snapshots.of(Snapshots.failureOfBudget(4096, 1000, 500), AllocatorSnapshot.EMPTY, Map.of());
        final Path file = Snapshots.write(snapshot, folder.resolve("budget.json"));
        assertThat(SnapshotFile.read(file)).isEqualTo(snapshot);
        final String field = "\"limited_by\":\"the budget of two\",";
        final String text = Files.readString(file);
        assertThat(text).contains(field);
        final Path before = Files.writeString(folder.resolve("before"), text.replace(field, ""));
        assertThat(SnapshotFile.read(before).failure()).isNotNull().returns("", Failure::limitedBy);
    }

    /** A snapshot of before the bytes of a block were recorded. */
    @Test
    void aSiteWithoutBytesIsRead() throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")));
        assertThat(text).contains(",1500,511]");
        final Path file = Files.writeString(folder.resolve("before"), text.replace(",1500,511]", ",1500]"));
        assertThat(SnapshotFile.read(file).allocators().getFirst().sites().values())
                .containsExactly(new Site("bert", "com.example.Model.load(Model.java:42)", 1500, 0));
    }

    @Test
    void aTraceDoesNotLookLikeASnapshot() throws IOException {
        assertThat(SnapshotFile.looksLikeOne(Files.writeString(folder.resolve("t"), "op,id,bytes,stream\n")))
                .isFalse();
        assertThat(SnapshotFile.looksLikeOne(folder.resolve("none"))).isFalse();
    }

    @Test
    void aFileThatIsCutAnywhereIsRejected() throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")));
        for (int length = 0; length < text.length() - 2; length += 7) {
            final Path cut = Files.writeString(folder.resolve("cut"), text.substring(0, length));
            assertThatExceptionOfType(SnapshotException.class)
                    .isThrownBy(() -> SnapshotFile.read(cut))
                    .withMessageStartingWith(cut.toString())
                    .satisfies(SnapshotFileTest::speaksToAUser);
        }
    }

    /** Whatever a byte is changed to, the file is read or rejected, with a message. */
    @Test
    void aDamagedFileIsReadOrRejected() throws IOException {
        final byte[] whole = Files.readAllBytes(Snapshots.write(sample(), folder.resolve("whole")));
        final Random random = new Random(11);
        for (int i = 0; i < Share.of(2000); i++) {
            final byte[] damaged = whole.clone();
            damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(128);
            final Path file = Files.write(folder.resolve("damaged"), damaged);
            try {
                assertThat(SnapshotFile.read(file)).isNotNull();
            } catch (SnapshotException e) {
                assertThat(e).hasMessageStartingWith(file.toString());
                speaksToAUser(e);
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    "version":1           | "version":2            | has version 2; this reader knows versions up to 1
                    "version":1           | "version":1.9          | has a version that is no whole number
                    "version":1,          | "other":1,             | has no version
                    java.allocator.snap   | java.allocator.other   | its field format is not java.allocator.snapshot
                    "version":1           | "version":0            | has version 0, and the first is 1
                    "version":1           | "version":-1           | has version -1, and the first is 1
                    "device":"gpu"        | "device":"quantum"     | has the device 'quantum' at line 1, column
                    [512,511,"live",5]    | [512,511,"lively",5]   | has the state 'lively' at line 1, column
                    [512,511,"live",5]    | [512,-7,"live",5]      | has a chunk of 512 bytes, -7 requested
                    "requested":4096      | "requested":-7         | has a failure whose requested is -7 bytes
                    "in_use":500          | "in_use":-1            | has a failure whose in_use is -1 bytes
                    "7f0000000000",       | "7g",                  | has the address '7g' at line 1, column
                    "regions":[           | "regions":7,"x":[      | there must be an array at line 1, column
                    [512,511,"live",5]    | [-512,511,"live",5]    | has a chunk of -512 bytes
                    [512,511,"live",5]    | [512.0,511,"live",5]   | there must be a whole number at line 1, column
                    [512,511,"live",5]    | [9223372036854775807,511,"live",5] | has an impossible value
                    [512,511,"live",5]    | [256,255,"live",5]     | has a region of 2048 bytes whose chunks have 1792
                    2026-11-25T12:00:00Z  | yesterday              | has an impossible time
                    """)
    void impossibleValuesAreRejected(String from, String to, String message) throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")));
        assertThat(text).contains(from.strip());
        final Path file = Files.writeString(folder.resolve("changed"), text.replace(from.strip(), to.strip()));
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(file))
                .withMessageContaining(message);
    }

    @Test
    void aRegionIsListedOnce() throws IOException {
        final AllocatorSnapshot twice = new AllocatorSnapshot(
                List.of(
                        Snapshots.region(0x1000, 0, State.LIVE, 0x2000),
                        Snapshots.region(0x8000, 0, State.LIVE, 0x1000),
                        Snapshots.region(0x2fff, 0, State.LIVE, 0x1000)),
                List.of());
        final Path file = Snapshots.write(Snapshots.of(null, twice, Map.of()), folder.resolve("twice"));
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(file))
                .withMessageContaining("has two regions of lane 0 at 2fff");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "{\"format\"", "{\"format\":\"java.allocator.snapshot\",", "{\"devices\":[{},"})
    void aFileThatIsCutOffIsSaidToBe(String text) throws IOException {
        final Path file = Files.writeString(folder.resolve("cut"), text);
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(file))
                .withMessageStartingWith(file + ": is cut off: it ends within the snapshot at line 1, column ");
    }

    @Test
    void aByteOrderMarkDoesNotMatter() throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")));
        final Path file = Files.writeString(folder.resolve("marked"), "\ufeff" + text);
        assertThat(SnapshotFile.looksLikeOne(file)).isTrue();
        assertThat(SnapshotFile.read(file)).isEqualTo(sample());
    }

    @Test
    void fieldsOfALaterWriterAreIgnored() throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")))
                .replace("\"scope\"", "\"later\":{\"a\":[1,{}]},\"scope\"")
                .replace("[512,511,\"live\",5]", "[512,511,\"live\",5,[\"later\"]]");
        assertThat(SnapshotFile.read(Files.writeString(folder.resolve("later"), text)))
                .isEqualTo(sample());
    }

    /** The reader of JSON stops at a depth, and says no place. */
    @Test
    void aFileThatIsTooDeepIsRejected() throws IOException {
        final String text = Files.readString(Snapshots.write(sample(), folder.resolve("whole")))
                .replace("\"scope\"", "\"later\":" + "[".repeat(5000) + "]".repeat(5000) + ",\"scope\"");
        final Path file = Files.writeString(folder.resolve("deep"), text);
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(file))
                .withMessageStartingWith(file.toString());
    }

    @Test
    void anEmptyFileIsRejected() throws IOException {
        final Path file = Files.writeString(folder.resolve("empty"), " \n");
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(file))
                .withMessage(file + ": is empty");
    }

    @Test
    void aFileThatIsNotThereIsNamed() {
        assertThatExceptionOfType(SnapshotException.class)
                .isThrownBy(() -> SnapshotFile.read(folder.resolve("none")))
                .withMessageEndingWith("none: no such file");
    }
}
