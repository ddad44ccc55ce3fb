package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the commands say of a file that is meant for another one. */
class ForeignFileTest {
    @TempDir
    private Path folder;

    private static byte[] gzip(String text) throws IOException {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    private void assertSaid(String command, byte[] content, String message) throws IOException {
        final Path file = Files.write(folder.resolve("given"), content);
        final Outcome outcome = Outcome.of(command, file.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .startsWith("allocator: " + file + ": " + message)
                .hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            show   | id,lower,upper,size          | is a file of blocks: allocator plan reads it
            replay | offset,id,size,upper,lower   | is a file of blocks: allocator plan reads it
            plan   | "id","lower","upper","size"  | is like a file of blocks: its header must be id,lower,upper,size, in
            plan   | ID;Lower;Upper;Size          | is like a file of blocks: its header must be id,lower,upper,size, in
            show   | <!DOCTYPE html><html>        | is a page: open it in a browser
            show   | <?xml version="1.0"?><a/>    | is XML: no command reads it
            show   | <svg/>                       | is XML: no command reads it
            plan   | {"format":"x"}               | is JSON, as a snapshot is: allocator show shows a snapshot
            show   | [1,2]                        | is an array in JSON: a snapshot is an object in JSON
            replay | FLR\0more                    | is a recording of the flight recorder: allocator show shows it
            show   | FLR                          | is the beginning of a recording of the flight recorder: copy it
            show   | PK\3\4more                   | is an archive: unpack it first
            show   | name,value                   | given:1: the header is 'name,value', it must be op,id,bytes,stream
            """)
    void aFileIsNamedByWhatItLooksLike(String command, String content, String message) throws IOException {
        final Path file = Files.write(
                folder.resolve("given"), (content.translateEscapes() + "\n").getBytes(StandardCharsets.UTF_8));
        final Outcome outcome =
                Outcome.of(command, content.equals("FLR") ? cut(file).toString() : file.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .contains(message)
                .startsWith("allocator: " + folder)
                .hasLineCount(1);
    }

    @Test
    void aPickleIsNamed() throws IOException {
        final Path file = Files.write(folder.resolve("given"), new byte[] {(byte) 0x80, 4, (byte) 0x95, 10, 0});
        assertThat(Outcome.of("show", file.toString()).err()).contains(file + ": is a pickle of Python");
    }

    @Test
    void anImportNamesThemToo() throws IOException {
        final Path file = Files.writeString(folder.resolve("given"), "{\"format\":1}");
        final Outcome outcome = Outcome.of("trace", "import", file.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .startsWith("allocator: " + file + ": is JSON, as a snapshot is: allocator show shows a snapshot")
                .hasLineCount(1);
        assertThat(folder).isDirectoryNotContaining("glob:**.gz");
    }

    private static Path cut(Path file) throws IOException {
        return Files.writeString(file, "FLR");
    }

    @Test
    void whatIsCompressedIsToBeUnpacked() throws IOException {
        assertSaid("show", gzip("{\"format\":1}"), "is JSON, as a snapshot is, compressed: unpack it first");
        assertSaid("replay", gzip("FLR\0x"), "is a recording of the flight recorder, compressed: unpack it first");
        assertSaid("plan", gzip("id,lower,upper,size\n"), "is a file of blocks, compressed: unpack it first");
    }

    @Test
    void aTraceMayBeCompressed() throws IOException {
        final Path file = Files.write(folder.resolve("t.csv.gz"), gzip("op,id,bytes,stream\na,1,100,0\n"));
        assertThat(ForeignFile.describe(file)).isEmpty();
        assertThat(Outcome.of("show", file.toString()).exitCode()).isZero();
    }
}
