package allocator.conformance.runner.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
    @TempDir
    private Path folder;

    @Test
    void whatIsNoMessageIsNotRead() throws IOException {
        final Path file = folder.resolve("journal");
        try (Journal reader = Journal.read(file)) {
            Files.write(file, new byte[] {0, 0, 0, 2, 7, 7});
            assertThatThrownBy(reader::next).isInstanceOf(IOException.class);
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.allocate(1), 1L << 32);
            }
            assertThatThrownBy(reader::next)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("bytes that are no messages");
        }
    }

    @Test
    void messagesBeforeWhatIsNoneAreRead() throws IOException {
        for (final long garbage : new long[] {0, 1L << 32}) {
            final Path file = folder.resolve("journal" + garbage);
            try (Journal reader = Journal.read(file);
                    Journal writer = Journal.append(file)) {
                writer.write("first");
                writer.write("second");
                Files.write(file, new byte[] {0, 0, 0, 2, 7, 7}, StandardOpenOption.APPEND);
                if (garbage > 0) {
                    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                        channel.write(ByteBuffer.allocate(1), garbage);
                    }
                }
                assertThat(reader.next()).containsExactly("first", "second");
                assertThatThrownBy(reader::next).isInstanceOf(IOException.class);
            }
        }
    }

    @Test
    void eachMessageIsReadOnceAndAPartOfOneNotAtAll() throws IOException {
        final Path file = folder.resolve("journal");
        try (Journal reader = Journal.read(file)) {
            assertThat(reader.next()).isEmpty();
            try (Journal writer = Journal.append(file)) {
                writer.write("first");
                writer.write("second");
            }
            assertThat(reader.next()).containsExactly("first", "second");
            final byte[] whole = Files.readAllBytes(file);
            Files.write(file, Arrays.copyOf(whole, whole.length / 4), StandardOpenOption.APPEND);
            assertThat(reader.next()).isEmpty();
            Files.write(file, Arrays.copyOfRange(whole, whole.length / 4, whole.length), StandardOpenOption.APPEND);
            assertThat(reader.next()).containsExactly("first", "second");
        }
    }
}
