package allocator.onnxruntime.ep.library;

import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
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
     * Returns the processor of a platform.
     *
     * @throws UnsupportedOperationException if there is no code for the platform, which the message names
     */
    public static Machine of(Platform platform) {
        if (platform.system() != OperatingSystem.LINUX) {
            throw unsupported(platform);
        }
        return switch (platform.processor()) {
            case X86_64 -> X86_64;
            case AARCH64 -> AARCH64;
            case OTHER_64_BIT, OTHER -> throw unsupported(platform);
        };
    }

    /**
     * Checks that there is code for a platform, before anything is made.
     *
     * @throws UnsupportedOperationException as {@link #of}
     */
    public static void requireCode(Platform platform) {
        final Machine ignored = of(platform);
    }

    private static UnsupportedOperationException unsupported(Platform platform) {
        return new UnsupportedOperationException(platform.lacks(
                "a plug-in execution provider in Java",
                "Linux on x86-64 or aarch64",
                "OnnxRuntimeAllocators of java.allocator.onnxruntime gives sessions CPU memory here"));
    }
}
