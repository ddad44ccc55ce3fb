package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.testkit.HeapUse;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceReaderTest {
    private static final String HEADER = "op,id,bytes,stream\n";

    /** Records every event as a line of text. */
    private static final class Notes implements TraceSink {
        private final List<String> lines = new ArrayList<>();

        @Override
        public void allocation(long id, int slot, long byteSize, int stream) {
            lines.add("a " + id + " slot " + slot + " " + byteSize + " on " + stream);
        }

        @Override
        public void free(long id, int slot, long byteSize, int stream) {
            lines.add("f " + id + " slot " + slot + " " + byteSize + " on " + stream);
        }
    }

    private static List<String> events(byte[] bytes) throws TraceException {
        final Notes notes = new Notes();
        TraceReader.read("t.csv", new ByteArrayInputStream(bytes), notes);
        return notes.lines;
    }

    private static List<String> events(String text) throws TraceException {
        return events(text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] gzip(String text) {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return bytes.toByteArray();
    }

    @Nested
    class Accepts {
        @Test
        void allocationsAndFreesWithSlotsUsedAgain() throws TraceException {
            assertThat(events(HEADER + "a,7,100,0\na,8,0,2\nf,7,100,0\na,9,300,1\nf,8,0,2\n"))
                    .containsExactly(
                            "a 7 slot 0 100 on 0",
                            "a 8 slot 1 0 on 2",
                            "f 7 slot 0 100 on 0",
                            "a 9 slot 0 300 on 1",
                            "f 8 slot 1 0 on 2");
        }

        @Test
        void anIdAgainOnceItsBlockIsFreed() throws TraceException {
            assertThat(events(HEADER + "a,1,10,0\nf,1,10,0\na,1,20,0\nf,1,20,0\n"))
                    .hasSize(4);
        }

        @Test
        void aFreeWhoseBytesAndStreamDifferAndDeliversThoseOfTheBlock() throws TraceException {
            assertThat(events(HEADER + "a,1,10,3\nf,1,0,0\n")).last().isEqualTo("f 1 slot 0 10 on 3");
        }

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "op,id,bytes,stream",
                    "op,id,bytes,stream\n",
                    "op,id,bytes,stream\r\n",
                    "\uFEFFop,id,bytes,stream\n",
                    "op,id,bytes,stream\n\n\n"
                })
        void aTraceWithoutEvents(String text) throws TraceException {
            assertThat(events(text)).isEmpty();
        }

        @Test
        void carriageReturnsAndALastLineWithoutLineFeed() throws TraceException {
            assertThat(events("op,id,bytes,stream\r\na,1,2,3\r\nf,1,2,3")).hasSize(2);
        }

        @Test
        void theLargestNumbers() throws TraceException {
            assertThat(events(HEADER + "a,9223372036854775807,9223372036854775552,2147483647"))
                    .containsExactly("a 9223372036854775807 slot 0 9223372036854775552 on 2147483647");
        }

        @Test
        void gzipWhateverTheName() throws TraceException {
            assertThat(events(gzip(HEADER + "a,1,2,3\n"))).hasSize(1);
        }

        @Test
        void gzipOfSeveralMembers() throws TraceException {
            final byte[] first = gzip(HEADER + "a,1,2,");
            final byte[] second = gzip("3\nf,1,2,3\n");
            final byte[] both = Arrays.copyOf(first, first.length + second.length);
            System.arraycopy(second, 0, both, first.length, second.length);
            assertThat(events(both)).hasSize(2);
        }
    }

    @Nested
    class Rejects {
        @ParameterizedTest
        @CsvSource(delimiter = '|', textBlock = """
                        x,1,2,3      | unknown op 'x', it must be a, r or f
                        A,1,2,3      | unknown op 'A', it must be a, r or f
                        alloc,1,2,3  | unknown op 'alloc', it must be a, r or f
                        ,1,2,3       | unknown op '', it must be a, r or f
                        f,1,2,3      | block 1 is freed before it is allocated
                        a,1,2        | a field is missing: 'a,1,2' has 3 of op,id,bytes,stream
                        hello        | a field is missing: 'hello' has 1 of op,id,bytes,stream
                        a,1,2,3,4    | there are too many fields: 'a,1,2,3,4' has 5 of op,id,bytes,stream
                        a,1,,3       | bytes is missing
                        a,,2,3       | id is missing
                        a,1,2,       | stream is missing
                        a,1,-2,3     | bytes is negative: '-2'
                        a,-1,2,3     | id is negative: '-1'
                        a,1,2,-3     | stream is negative: '-3'
                        a,1,-,3      | bytes is no number: '-'
                        a,1,1e3,3    | bytes is no number: '1e3'
                        a,1,+2,3     | bytes is no number: '+2'
                        a,1, 2,3     | bytes is no number: ' 2'
                        a,1,2.0,3    | bytes is no number: '2.0'
                        a,1,9223372036854775553,3      | bytes is above 9223372036854775552: '9223372036854775553'
                        a,1,9223372036854775808,3      | bytes is above 9223372036854775552: '9223372036854775808'
                        a,1,99999999999999999999999,3  | bytes is above 9223372036854775552: '99999999999999999999999'
                        a,9223372036854775808,2,3      | id is above 9223372036854775807: '9223372036854775808'
                        a,1,2,2147483648               | stream is above 2147483647: '2147483648'
                        """)
        void aMalformedLineWithItsNumberAndReason(String line, String reason) {
            assertThatThrownBy(() -> events(HEADER + "a,0,1,0\n" + line + "\n"))
                    .isInstanceOfSatisfying(TraceException.class, e -> {
                        assertThat(e.trace()).isEqualTo("t.csv");
                        assertThat(e.line()).isEqualTo(3);
                        assertThat(e.reason()).isEqualTo(reason);
                        assertThat(e).hasMessage("t.csv:3: " + reason);
                    });
        }

        @Test
        void aBlockThatLivesAlready() {
            assertReason(HEADER + "a,5,1,0\na,5,1,0\n", "t.csv:3: block 5 is allocated again while it lives");
        }

        @Test
        void aSecondFree() {
            assertReason(HEADER + "a,5,1,0\nf,5,1,0\nf,5,1,0\n", "t.csv:4: block 5 is freed twice");
        }

        @Test
        void anEmptyLineBetweenEvents() {
            assertReason(HEADER + "\n\na,5,1,0\n", "t.csv:2: the line is empty");
        }

        @Test
        void anEmptyFile() {
            assertReason("", "t.csv: the file is empty, the line op,id,bytes,stream is missing");
        }

        @Test
        void anEmptyFileInGzip() {
            assertThatThrownBy(() -> events(gzip("")))
                    .hasMessage("t.csv: the file is empty, the line op,id,bytes,stream is missing");
        }

        @Test
        void anotherHeader() {
            assertReason("a,1,2,3\n", "t.csv:1: the header is 'a,1,2,3', it must be op,id,bytes,stream");
        }

        @Test
        void anotherHeaderOfControlCharactersAndLength() {
            assertReason(
                    "ä\t" + "x".repeat(100) + "\n",
                    "t.csv:1: the header is 'ä\\u0009" + "x".repeat(57) + "…', it must be op,id,bytes,stream");
        }

        @Test
        void aLineWithoutEnd() {
            assertThatThrownBy(() -> events(HEADER + "a".repeat(1_000_000)))
                    .hasMessageStartingWith("t.csv:2: the line is longer than 256 bytes: 'aaa");
        }

        @ParameterizedTest
        @ValueSource(ints = {0, 18, 19})
        void bytesThatAreNotText(int position) {
            final byte[] bytes = (HEADER + "a,1,2,3\n").getBytes(StandardCharsets.UTF_8);
            bytes[position] = (byte) 0xFF;
            assertThatThrownBy(() -> events(bytes)).hasMessageEndingWith("this is not UTF-8 text");
        }

        @Test
        void gzipCutAnywhere() throws TraceException {
            final byte[] whole = gzip(HEADER + "a,1,2,3\nf,1,2,3\n");
            assertThat(events(whole)).hasSize(2);
            for (int length = 2; length < whole.length; length++) {
                final byte[] cut = Arrays.copyOf(whole, length);
                assertThatThrownBy(() -> events(cut)).hasMessageStartingWith("t.csv: the gzip data is truncated");
            }
        }

        @Test
        void gzipWithFlippedBits() {
            final byte[] bytes = gzip(HEADER + "a,1,2,3\nf,1,2,3\n");
            bytes[bytes.length - 5] ^= 1;
            assertThatThrownBy(() -> events(bytes)).hasMessageStartingWith("t.csv: the gzip data is damaged");
        }

        private void assertReason(String text, String message) {
            assertThatThrownBy(() -> events(text))
                    .isInstanceOf(TraceException.class)
                    .hasMessage(message);
        }
    }

    @Nested
    class RejectsFiles {
        @TempDir
        private Path folder;

        @Test
        void thatAreMissing() {
            final Path file = folder.resolve("none.csv");
            assertThatThrownBy(() -> TraceReader.read(file, new Notes())).hasMessage(file + ": no such file");
        }

        @Test
        void withoutAName() {
            assertThatThrownBy(() -> TraceReader.read(Path.of(""), new Notes())).hasMessage("'': the name is empty");
        }

        @Test
        void thatAreDirectories() {
            assertThatThrownBy(() -> TraceReader.read(folder, new Notes()))
                    .hasMessage(folder + ": is a directory, not a trace");
        }

        @Test
        void thatAreCutOffWithTheirName() throws IOException {
            final Path file = folder.resolve("cut.csv.gz");
            Files.write(file, Arrays.copyOf(gzip(HEADER + "a,1,2,3\n"), 20));
            assertThatThrownBy(() -> TraceReader.read(file, new Notes()))
                    .hasMessage(file + ": the gzip data is truncated");
        }
    }

    @Test
    void makesNoObjectPerLine() throws TraceException {
        final byte[] trace = (HEADER + "a,1234567,1048576,0\nf,1234567,1048576,0\n".repeat(250_000))
                .getBytes(StandardCharsets.UTF_8);
        final long[] events = new long[1];
        final TraceSink counter = new TraceSink() {
            @Override
            public void allocation(long id, int slot, long byteSize, int stream) {
                events[0]++;
            }

            @Override
            public void free(long id, int slot, long byteSize, int stream) {
                events[0]++;
            }
        };
        final long before = HeapUse.ofThisThread();
        TraceReader.read("t.csv", new ByteArrayInputStream(trace), counter);
        assertThat(HeapUse.ofThisThread() - before).isLessThan(300_000);
        assertThat(events[0]).isEqualTo(500_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"t.csv", "t.csv.gz"})
    void whatAProcessLeftIsReadAsFarAsItsLinesAreWhole(String name, @TempDir Path folder) throws IOException {
        final Path whole = folder.resolve(name);
        try (TraceWriter writer = new TraceWriter(whole)) {
            for (int id = 0; id < 100_000; id++) {
                writer.allocation(id, id * 7919L % 100_003, 0);
            }
        }
        final byte[] bytes = Files.readAllBytes(whole);
        final byte[] cut = Arrays.copyOf(bytes, bytes.length / 2);
        final Path left = Files.write(folder.resolve(name + ".1-2.part"), cut);
        assertThat(Trace.read(left).eventCount()).isBetween(30_000, 70_000);
        final Path other = Files.write(folder.resolve("other-" + name), cut);
        assertThatThrownBy(() -> Trace.read(other)).isInstanceOf(TraceException.class);
    }
}
