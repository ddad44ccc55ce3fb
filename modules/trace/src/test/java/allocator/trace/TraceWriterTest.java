package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.OptionKey;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceWriterTest {
    @TempDir
    private Path folder;

    /** An event as it stands in the file. */
    record Event(char op, long id, long byteSize, int stream) {}

    @Test
    void writesTheFormat() throws IOException {
        final Path file = folder.resolve("t.csv");
        try (TraceWriter writer = new TraceWriter(file)) {
            writer.allocation(0, 4096, 0);
            writer.allocation(Long.MAX_VALUE, OptionKey.MAX_SIZE, Integer.MAX_VALUE);
            writer.free(0, 4096, 0);
        }
        assertThat(file).hasContent("""
                        op,id,bytes,stream
                        a,0,4096,0
                        a,9223372036854775807,9223372036854775552,2147483647
                        f,0,4096,0
                        """);
    }

    @Test
    void compressesWhatIsNamedGz() throws IOException {
        final Path file = folder.resolve("t.csv.gz");
        try (TraceWriter writer = new TraceWriter(file)) {
            writer.allocation(0, 4096, 0);
        }
        assertThat(Files.readAllBytes(file)).startsWith(0x1f, 0x8b);
        assertThat(Trace.read(file).eventCount()).isEqualTo(1);
    }

    @Test
    void showsTheFileOnlyWhenItIsWhole() throws IOException {
        final Path file = folder.resolve("t.csv");
        Files.writeString(file, "before");
        try (TraceWriter writer = new TraceWriter(file)) {
            for (int i = 0; i < 100_000; i++) {
                writer.allocation(i, 1000, 0);
            }
            assertThat(file).hasContent("before");
        }
        assertThat(Trace.read(file).liveAtEnd()).isEqualTo(100_000);
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file);
        }
    }

    /** A buffer keeps a part of the event that failed, and would write it before the next one. */
    @Test
    void writesNothingMoreAfterAWriteThatFailed() throws IOException {
        final Path file = folder.resolve("t.csv");
        final boolean[] isFull = {true};
        final TraceWriter writer = new TraceWriter(file, out -> new FilterOutputStream(out) {
            @Override
            public void write(byte[] bytes, int from, int length) throws IOException {
                if (isFull[0]) {
                    isFull[0] = false;
                    throw new IOException("No space left on device");
                }
                out.write(bytes, from, length);
            }
        });
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 100_000; i++) {
                        writer.allocation(i, 1000, 0);
                    }
                })
                .hasMessage("No space left on device");
        assertThatThrownBy(() -> writer.allocation(100_000, 1000, 0))
                .isInstanceOf(IOException.class)
                .hasMessage("an earlier event could not be written");
        writer.close();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void followsASymbolicLinkToTheFile() throws IOException {
        final Path file = Files.writeString(folder.resolve("t.csv"), "before");
        final Path link = Files.createSymbolicLink(folder.resolve("link.csv"), file);
        new TraceWriter(link).close();
        assertThat(link).isSymbolicLink();
        assertThat(file).hasContent("op,id,bytes,stream");
    }

    @Test
    void rejectsWhatIsNoEvent() throws IOException {
        try (TraceWriter writer = new TraceWriter(folder.resolve("t.csv"))) {
            assertThatThrownBy(() -> writer.allocation(-1, 1, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> writer.allocation(1, -1, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> writer.free(1, 1, -1)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> writer.allocation(1, Long.MAX_VALUE, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no event of a trace: a,1,9223372036854775807,0");
        }
    }

    @Test
    void rejectsAFolderThatIsMissingOrInTheWay() {
        assertThatThrownBy(() -> new TraceWriter(folder.resolve("none/t.csv"))).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> new TraceWriter(folder)).hasMessage(folder + ": is not a regular file");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void rejectsAnEmptyName() {
        assertThatThrownBy(() -> new TraceWriter(Path.of(""))).hasMessage("'': the name is empty");
    }

    @Property
    void whatIsWrittenIsReadAgain(@ForAll("programs") List<Event> events, @ForAll boolean isGzip) throws IOException {
        final Path file = Files.createTempFile("trace", isGzip ? ".csv.gz" : ".csv");
        try (TraceWriter writer = new TraceWriter(file)) {
            for (final Event event : events) {
                if (event.op == 'a') {
                    writer.allocation(event.id, event.byteSize, event.stream);
                } else {
                    writer.free(event.id, event.byteSize, event.stream);
                }
            }
        }
        final List<Event> read = new ArrayList<>();
        TraceReader.read(file, new TraceSink() {
            @Override
            public void allocation(long id, int slot, long byteSize, int stream) {
                read.add(new Event('a', id, byteSize, stream));
            }

            @Override
            public void free(long id, int slot, long byteSize, int stream) {
                read.add(new Event('f', id, byteSize, stream));
            }
        });
        Files.delete(file);
        assertThat(read).isEqualTo(events);
    }

    /** Valid traces: each number picks a block to allocate, or the live one that it frees. */
    @Provide
    Arbitrary<List<Event>> programs() {
        final Arbitrary<Event> allocations = Combinators.combine(
                        Arbitraries.oneOf(
                                Arbitraries.longs().between(0, 30),
                                Arbitraries.longs().greaterOrEqual(0)),
                        Arbitraries.longs().between(0, OptionKey.MAX_SIZE),
                        Arbitraries.integers().greaterOrEqual(0))
                .as((id, byteSize, stream) -> new Event('a', id, byteSize, stream));
        return allocations.list().ofMaxSize(200).map(TraceWriterTest::alternate);
    }

    /** An id that comes again while its block lives frees it. */
    private static List<Event> alternate(List<Event> allocations) {
        final List<Event> live = new ArrayList<>();
        final List<Event> events = new ArrayList<>();
        for (final Event event : allocations) {
            final Event same =
                    live.stream().filter(e -> e.id == event.id).findFirst().orElse(null);
            if (same == null) {
                live.add(event);
                events.add(event);
            } else {
                live.remove(same);
                events.add(new Event('f', same.id, same.byteSize, same.stream));
            }
        }
        return events;
    }
}
