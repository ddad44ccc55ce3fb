import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes a shared library with CUDA code fit for one host: overwrites the device code of other architectures with
 * zeros, so that it compresses well, and points the library to other libraries whose names are as long.
 *
 * <p>{@code java CudaLibrary.java IN OUT ARCHITECTURE [NAME=OTHER ...]}, for instance {@code 90} and
 * {@code libcublas.so.12=libcublas.so.13}. An ELF file of 64 bits, little endian.
 */
public final class CudaLibrary {
    private static final int SECTION_HEADER_SIZE = 64;
    private static final int TYPE_VERSIONS_NEEDED = 0x6ffffffe;

    private static final int FAT_MAGIC = 0xBA55ED50;
    private static final int FAT_HEADER_SIZE = 16;
    private static final int KIND_PTX = 1;
    private static final int KIND_BINARY = 2;
    private static final int ARCHITECTURE = 28;

    private final ByteBuffer file;

    private CudaLibrary(ByteBuffer file) {
        this.file = file;
    }

    /** A section of the file. */
    private record Section(String name, int type, int offset, int size, int link, int info) {}

    /** Device code within a container. */
    private record Code(int kind, int architecture, int payload, int payloadSize) {}

    public static void main(String[] args) throws IOException {
        final Path out = Files.copy(Path.of(args[0]), Path.of(args[1]), StandardCopyOption.REPLACE_EXISTING);
        try (FileChannel channel = FileChannel.open(out, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            final MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
            final CudaLibrary library = new CudaLibrary(mapped.order(ByteOrder.LITTLE_ENDIAN));
            System.out.println(library.prune(Integer.parseInt(args[2])) + " MiB of device code kept");
            for (int i = 3; i < args.length; i++) {
                final String[] names = args[i].split("=", 2);
                library.rename(names[0], names[1]);
            }
            library.hashVersions();
            mapped.force();
        }
    }

    private List<Section> sections() {
        final int table = (int) file.getLong(0x28);
        final int count = file.getShort(0x3c);
        final int names = (int) file.getLong(table + SECTION_HEADER_SIZE * file.getShort(0x3e) + 24);
        final List<Section> sections = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            final int at = table + SECTION_HEADER_SIZE * i;
            sections.add(new Section(
                    text(names + file.getInt(at)),
                    file.getInt(at + 4),
                    (int) file.getLong(at + 24),
                    (int) file.getLong(at + 32),
                    file.getInt(at + 40),
                    file.getInt(at + 44)));
        }
        return sections;
    }

    private String text(int at) {
        int end = at;
        while (file.get(end) != 0) {
            end++;
        }
        final byte[] bytes = new byte[end - at];
        file.get(at, bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    /** Keeps, of each container, the binary for an architecture, or else the newest code that compiles to it. */
    private int prune(int architecture) {
        long kept = 0;
        for (final Section section : sections()) {
            if (!section.name().equals(".nv_fatbin")) {
                continue;
            }
            int at = section.offset();
            while (at < section.offset() + section.size() - FAT_HEADER_SIZE) {
                if (file.getInt(at) != FAT_MAGIC) {
                    at += Long.BYTES;
                    continue;
                }
                final int header = file.getShort(at + 6);
                final int size = (int) file.getLong(at + 8);
                kept += prune(at + header, at + header + size, architecture);
                at += header + size;
            }
        }
        return (int) (kept >> 20);
    }

    private long prune(int begin, int end, int architecture) {
        final List<Code> codes = new ArrayList<>();
        for (int at = begin; at < end; ) {
            final int kind = file.getShort(at);
            final int header = file.getInt(at + 4);
            if (header == 0) {
                break;
            }
            final int payloadSize = (int) file.getLong(at + 8);
            codes.add(new Code(kind, file.getInt(at + ARCHITECTURE), at + header, payloadSize));
            at += header + payloadSize;
        }
        final boolean hasBinary = codes.stream()
                .anyMatch(code -> code.kind() == KIND_BINARY && code.architecture() == architecture);
        final int newest = codes.stream()
                .filter(code -> code.kind() == KIND_PTX && code.architecture() <= architecture)
                .mapToInt(Code::architecture)
                .max()
                .orElse(-1);
        long kept = 0;
        for (final Code code : codes) {
            final boolean isKept =
                    switch (code.kind()) {
                        case KIND_BINARY -> code.architecture() == architecture;
                        case KIND_PTX -> !hasBinary && code.architecture() == newest;
                        default -> true;
                    };
            if (isKept) {
                kept += code.payloadSize();
            } else {
                file.put(code.payload(), new byte[code.payloadSize()]);
            }
        }
        return kept;
    }

    /** Replaces a name in the string table of the dynamic section by one of the same length. */
    private void rename(String name, String other) {
        if (name.length() != other.length()) {
            throw new IllegalArgumentException(name + " and " + other + " differ in length");
        }
        final byte[] wanted = (name + "\0").getBytes(StandardCharsets.US_ASCII);
        int count = 0;
        for (final Section section : sections()) {
            if (!section.name().equals(".dynstr")) {
                continue;
            }
            for (int at = section.offset(); at <= section.offset() + section.size() - wanted.length; at++) {
                if (matches(at, wanted)) {
                    file.put(at, other.getBytes(StandardCharsets.US_ASCII));
                    count++;
                }
            }
        }
        System.out.println(name + " -> " + other + ": " + count);
    }

    private boolean matches(int at, byte[] wanted) {
        for (int i = 0; i < wanted.length; i++) {
            if (file.get(at + i) != wanted[i]) {
                return false;
            }
        }
        return true;
    }

    /** Computes the hashes of the names of needed versions again. */
    private void hashVersions() {
        final List<Section> sections = sections();
        for (final Section section : sections) {
            if (section.type() != TYPE_VERSIONS_NEEDED) {
                continue;
            }
            final int strings = sections.get(section.link()).offset();
            int need = section.offset();
            for (int i = 0; i < section.info(); i++) {
                final int auxiliaries = file.getShort(need + 2);
                int auxiliary = need + file.getInt(need + 8);
                for (int j = 0; j < auxiliaries; j++) {
                    file.putInt(auxiliary, hash(text(strings + file.getInt(auxiliary + 8))));
                    auxiliary += file.getInt(auxiliary + 12);
                }
                need += file.getInt(need + 12);
            }
        }
    }

    /** The hash of a name by the System V ABI. */
    private static int hash(String name) {
        int hash = 0;
        for (final byte character : name.getBytes(StandardCharsets.US_ASCII)) {
            hash = (hash << 4) + character;
            final int high = hash & 0xF0000000;
            hash = (hash ^ (high >>> 24)) & ~high;
        }
        return hash;
    }
}
