package allocator.onnxruntime.ep.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reads the libraries as a dynamic loader does. */
class SharedObjectTest {
    private static final int HASH = 4;
    private static final int NAMES = 5;
    private static final int SYMBOLS = 6;

    private static ByteBuffer file(Machine machine) {
        return ByteBuffer.wrap(SharedObject.bytes(machine)).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** A program header. */
    private record Segment(int type, int flags, long offset, long address, long byteSize, long alignment) {
        static Segment at(ByteBuffer file, int number) {
            final int at = (int) file.getLong(32) + number * file.getShort(54);
            return new Segment(
                    file.getInt(at),
                    file.getInt(at + 4),
                    file.getLong(at + 8),
                    file.getLong(at + 16),
                    file.getLong(at + 32),
                    file.getLong(at + 48));
        }
    }

    private static Map<Long, Long> dynamicSection(ByteBuffer file) {
        final Map<Long, Long> entries = new TreeMap<>();
        int at = (int) Segment.at(file, 2).offset();
        while (file.getLong(at) != 0) {
            entries.put(file.getLong(at), file.getLong(at + 8));
            at += 16;
        }
        return entries;
    }

    private static Map<String, Long> symbols(ByteBuffer file) {
        final Map<Long, Long> section = dynamicSection(file);
        final int hash = section.get((long) HASH).intValue();
        final int names = section.get((long) NAMES).intValue();
        final int symbols = section.get((long) SYMBOLS).intValue();
        assertThat(file.getInt(hash)).isOne(); // one bucket
        final Map<String, Long> found = new TreeMap<>();
        int symbol = file.getInt(hash + 8);
        while (symbol != 0) {
            final int at = symbols + 24 * symbol;
            final StringBuilder name = new StringBuilder();
            for (int i = names + file.getInt(at); file.get(i) != 0; i++) {
                name.append((char) file.get(i));
            }
            assertThat(file.getShort(at + 6)).isNotZero(); // defined here
            found.put(name.toString(), file.getLong(at + 8));
            symbol = file.getInt(hash + 12 + 4 * symbol);
        }
        return found;
    }

    @ParameterizedTest
    @EnumSource
    void theHeaderIsThatOfASharedObject(Machine machine) {
        final ByteBuffer file = file(machine);
        assertThat(file.getInt(0)).isEqualTo(0x464C457F);
        assertThat(file.getShort(16)).isEqualTo((short) 3);
        assertThat(file.getShort(18)).isEqualTo((short) machine.elfNumber());
    }

    @ParameterizedTest
    @EnumSource
    void noPageIsWritableAndExecutable(Machine machine) {
        final ByteBuffer file = file(machine);
        final Segment code = Segment.at(file, 0);
        final Segment data = Segment.at(file, 1);
        assertThat(code.flags()).isEqualTo(5);
        assertThat(data.flags()).isEqualTo(6);
        assertThat(code.byteSize()).isLessThanOrEqualTo(data.offset());
        assertThat(data.offset() % data.alignment()).isZero();
        assertThat(data.offset() + data.byteSize()).isEqualTo(file.capacity());
        assertThat(Segment.at(file, 3).flags()).isEqualTo(6); // the stack is not executable
    }

    @ParameterizedTest
    @EnumSource
    void theFunctionsAndThePointersAreExported(Machine machine) {
        final ByteBuffer file = file(machine);
        final Map<String, Long> symbols = symbols(file);
        assertThat(symbols).containsOnlyKeys("CreateEpFactories", "ReleaseEpFactory", "slots");
        assertThat(symbols.get("slots")).isEqualTo(Segment.at(file, 1).address());
    }

    @ParameterizedTest
    @EnumSource
    void aFunctionJumpsThroughItsPointer(Machine machine) {
        final ByteBuffer file = file(machine);
        final Map<String, Long> symbols = symbols(file);
        for (int i = 0; i < 2; i++) {
            final int code = symbols.get(i == 0 ? "CreateEpFactories" : "ReleaseEpFactory")
                    .intValue();
            assertThat(target(machine, file, code)).isEqualTo(symbols.get("slots") + 8L * i);
        }
    }

    private static long target(Machine machine, ByteBuffer file, int at) {
        return switch (machine) {
            case X86_64 -> {
                assertThat(file.getShort(at)).isEqualTo((short) 0x25FF);
                yield at + 6 + file.getInt(at + 2);
            }
            case AARCH64 -> {
                final int adrp = file.getInt(at);
                final int load = file.getInt(at + 4);
                assertThat(adrp & 0x9F00001F).isEqualTo(0x90000010);
                assertThat(load & 0xFFC003FF).isEqualTo(0xF9400210);
                assertThat(file.getInt(at + 8)).isEqualTo(0xD61F0200);
                final long pages = ((adrp >> 29) & 3) | ((adrp >> 5 & 0x7FFFF) << 2);
                yield (at & ~0xFFF) + (pages << 12) + ((load >> 10 & 0xFFF) << 3);
            }
        };
    }
}
