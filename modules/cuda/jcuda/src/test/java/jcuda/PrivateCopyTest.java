package jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PrivateCopyTest {
    @Test
    void onlyTheOwnerCanEnterTheDirectory() throws IOException {
        try (PrivateCopy copy = PrivateCopy.of(new ByteArrayInputStream(new byte[] {1, 2, 3}), "lib.so")) {
            final Path directory = copy.file().getParent();
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                    .isEqualTo("rwx------");
            assertThat(copy.file()).hasBinaryContent(new byte[] {1, 2, 3});
        }
    }

    @Test
    void twoCopiesShareNoDirectory() throws IOException {
        try (PrivateCopy first = PrivateCopy.of(InputStream.nullInputStream(), "lib.so");
                PrivateCopy second = PrivateCopy.of(InputStream.nullInputStream(), "lib.so")) {
            assertThat(first.file().getParent()).isNotEqualTo(second.file().getParent());
        }
    }

    @Test
    void closingDeletesFileAndDirectory() throws IOException {
        final PrivateCopy copy = PrivateCopy.of(InputStream.nullInputStream(), "lib.so");
        copy.close();
        assertThat(copy.file().getParent()).doesNotExist();
    }

    @Test
    void aCopyThatFailsLeavesNothing() throws IOException {
        final List<Path> before = directories();
        final InputStream broken = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("disk on fire");
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return read();
            }
        };
        assertThatThrownBy(() -> PrivateCopy.of(broken, "lib.so"))
                .isInstanceOf(IOException.class)
                .hasMessage("disk on fire");
        assertThat(directories()).isEqualTo(before);
    }

    private static List<Path> directories() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.getFileName().toString().startsWith("jcuda-"))
                    .sorted()
                    .toList();
        }
    }
}
