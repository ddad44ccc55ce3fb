package allocator.onnxruntime.ep.library;

import java.nio.ByteBuffer;

/**
 * A processor for which {@link SharedObject} has code: a jump through a pointer in the data page. It changes no
 * register that carries an argument, so the function behind the pointer is called as if directly.
 */
public enum Machine {
    /** Proven: the tests load it. */
    X86_64(62, 0x1000) {
        @Override
        void putJump(ByteBuffer code, int slot) {
            code.put((byte) 0xFF).put((byte) 0x25); // jmp [rip + displacement]
            code.putInt(slot - (code.position() + Integer.BYTES));
        }
    },
    /** Not proven: no test has loaded it. Pages may have 64 KiB. */
    AARCH64(183, 0x10000) {
        @Override
        void putJump(ByteBuffer code, int slot) {
            final int pages = (slot >> 12) - (code.position() >> 12);
            code.putInt(0x90000010 | ((pages & 3) << 29) | ((pages >> 2) << 5)); // adrp x16, page of the slot
            code.putInt(0xF9400210 | (((slot & 0xFFF) / Long.BYTES) << 10)); // ldr x16, [x16, offset in the page]
            code.putInt(0xD61F0200); // br x16
        }
    };

    private final int elfNumber;
    private final int pageBytes;

    Machine(int elfNumber, int pageBytes) {
        this.elfNumber = elfNumber;
        this.pageBytes = pageBytes;
    }

    /** Returns the number of the processor in an ELF header. */
    int elfNumber() {
        return elfNumber;
    }

    /** Returns the largest size of a page. */
    int pageBytes() {
        return pageBytes;
    }

    /** Adds the code that jumps to where the slot points. */
    abstract void putJump(ByteBuffer code, int slot);

    /**
     * Returns the processor of this process.
     *
     * @throws UnsupportedOperationException if there is no code for the platform, which the message names
     */
    public static Machine current() {
        return of(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    static Machine of(String system, String processor) {
        if (system.equals("Linux")) {
            switch (processor) {
                case "amd64" -> {
                    return X86_64;
                }
                case "aarch64" -> {
                    return AARCH64;
                }
                default -> {
                    // There is no code for it.
                }
            }
        }
        throw new UnsupportedOperationException("plug-in execution providers in Java need Linux on x86-64 or aarch64;"
                + " this is " + system + " on " + processor);
    }
}
