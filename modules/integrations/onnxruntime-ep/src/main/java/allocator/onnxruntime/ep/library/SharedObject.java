package allocator.onnxruntime.ep.library;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The bytes of a shared library in ELF format, the smallest that a dynamic loader accepts: two functions that jump
 * through two pointers, and the pointers.
 *
 * <pre>
 *     0        header
 *     64       program headers: code (read, execute), data (read, write), dynamic section, stack without execution
 *     0x200    symbols, names, hash table
 *     ...      code: one jump for each function, 16 bytes apart
 *     a page   data: the two pointers, then the dynamic section
 * </pre>
 *
 * <p>The file is loaded as it is: offsets in the file are addresses relative to where it is loaded.
 */
public final class SharedObject {
    /** The function that ONNX Runtime calls first; it jumps through pointer 0. */
    public static final String CREATE = "CreateEpFactories";

    /** The function that it calls last, once for each factory; it jumps through pointer 1. */
    public static final String RELEASE = "ReleaseEpFactory";

    /** The symbol of the two pointers. */
    public static final String SLOTS = "slots";

    private static final List<String> FUNCTIONS = List.of(CREATE, RELEASE);

    private static final int SYMBOLS = 0x200;
    private static final int SYMBOL_BYTES = 24;
    private static final int PROGRAM_HEADER_BYTES = 56;
    private static final int JUMP_BYTES = 16;
    private static final int DYNAMIC_ENTRIES = 6;

    private static final byte GLOBAL_FUNCTION = 0x12;
    private static final byte GLOBAL_OBJECT = 0x11;

    private final Machine machine;
    private final byte[] names;
    private final List<Integer> nameOffsets = new ArrayList<>();
    private final int namesOffset;
    private final int hashOffset;
    private final int codeOffset;
    private final int dataOffset;
    private final int dynamicOffset;
    private final ByteBuffer file;

    private SharedObject(Machine machine) {
        this.machine = machine;
        final StringBuilder text = new StringBuilder("\0");
        for (final String name : List.of(CREATE, RELEASE, SLOTS)) {
            nameOffsets.add(text.length());
            text.append(name).append('\0');
        }
        names = text.toString().getBytes(StandardCharsets.US_ASCII);
        final int symbols = nameOffsets.size() + 1;
        namesOffset = SYMBOLS + SYMBOL_BYTES * symbols;
        hashOffset = roundUp(namesOffset + names.length, Long.BYTES);
        codeOffset = roundUp(hashOffset + Integer.BYTES * (2 + 1 + symbols), JUMP_BYTES);
        dataOffset = machine.pageBytes();
        dynamicOffset = dataOffset + Long.BYTES * FUNCTIONS.size();
        file = ByteBuffer.allocate(dynamicOffset + 2 * Long.BYTES * DYNAMIC_ENTRIES)
                .order(ByteOrder.LITTLE_ENDIAN);
    }

    private static int roundUp(int value, int multiple) {
        return (value + multiple - 1) & -multiple;
    }

    /** Returns the file's bytes. */
    public static byte[] bytes(Machine machine) {
        final SharedObject object = new SharedObject(machine);
        object.putHeaders();
        object.putSymbols();
        object.putCode();
        object.putDynamicSection();
        return object.file.array();
    }

    private void putHeaders() {
        final int end = file.capacity();
        file.put(new byte[] {0x7F, 'E', 'L', 'F', 2, 1, 1}) // 64 bits, little endian, version 1
                .position(16);
        file.putShort((short) 3) // a shared object
                .putShort((short) machine.elfNumber())
                .putInt(1)
                .putLong(0) // no entry point
                .putLong(64) // program headers
                .putLong(0) // no section headers
                .putInt(0)
                .putShort((short) 64)
                .putShort((short) PROGRAM_HEADER_BYTES)
                .putShort((short) 4)
                .putShort((short) 64)
                .putShort((short) 0)
                .putShort((short) 0);
        final int load = 1;
        final int dynamic = 2;
        final int stack = 0x6474E551;
        final int readExecute = 5;
        final int readWrite = 6;
        putProgramHeader(load, readExecute, 0, codeOffset + JUMP_BYTES * FUNCTIONS.size(), machine.pageBytes());
        putProgramHeader(load, readWrite, dataOffset, end - dataOffset, machine.pageBytes());
        putProgramHeader(dynamic, readWrite, dynamicOffset, end - dynamicOffset, Long.BYTES);
        putProgramHeader(stack, readWrite, 0, 0, 2 * Long.BYTES);
    }

    private void putProgramHeader(int type, int flags, int offset, int byteSize, int alignment) {
        file.putInt(type)
                .putInt(flags)
                .putLong(offset)
                .putLong(offset)
                .putLong(offset)
                .putLong(byteSize)
                .putLong(byteSize)
                .putLong(alignment);
    }

    private void putSymbols() {
        file.position(SYMBOLS + SYMBOL_BYTES); // the first symbol is empty
        for (int i = 0; i < FUNCTIONS.size(); i++) {
            putSymbol(i, GLOBAL_FUNCTION, codeOffset + JUMP_BYTES * i, JUMP_BYTES);
        }
        putSymbol(FUNCTIONS.size(), GLOBAL_OBJECT, dataOffset, dynamicOffset - dataOffset);
        file.position(namesOffset).put(names);
        final int count = nameOffsets.size();
        // One bucket, whose chain has all symbols.
        file.position(hashOffset).putInt(1).putInt(count + 1).putInt(1).putInt(0);
        for (int i = 1; i <= count; i++) {
            file.putInt(i == count ? 0 : i + 1);
        }
    }

    private void putSymbol(int number, byte kind, int address, int byteSize) {
        file.putInt(nameOffsets.get(number))
                .put(kind)
                .put((byte) 0)
                .putShort((short) (number + 1)) // any section but the undefined one, 0
                .putLong(address)
                .putLong(byteSize);
    }

    private void putCode() {
        for (int i = 0; i < FUNCTIONS.size(); i++) {
            file.position(codeOffset + JUMP_BYTES * i);
            machine.putJump(file, dataOffset + Long.BYTES * i);
        }
    }

    private void putDynamicSection() {
        file.position(dynamicOffset)
                .putLong(4) // hash table
                .putLong(hashOffset)
                .putLong(5) // names
                .putLong(namesOffset)
                .putLong(6) // symbols
                .putLong(SYMBOLS)
                .putLong(10) // size of the names
                .putLong(names.length)
                .putLong(11) // size of a symbol
                .putLong(SYMBOL_BYTES)
                .putLong(0) // end
                .putLong(0);
    }
}
