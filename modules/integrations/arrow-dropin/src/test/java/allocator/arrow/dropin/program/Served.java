package allocator.arrow.dropin.program;

import allocator.arrow.ProcessMemory;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** Requires that Arrow allocates from the memory of the process. Argument: the module of Arrow, if it is in one. */
public final class Served {
    private Served() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (BufferAllocator root = new RootAllocator();
                ArrowBuf buffer = root.buffer(1000)) {
            buffer.setLong(992, 42);
            require(buffer.getLong(992) == 42, "the buffer has its bytes");
            require(ProcessMemory.get().stats().requestedBytesInUse() == 1024, "the buffer is ours");
            require(
                    args.length == 0
                            || args[0].equals(BufferAllocator.class.getModule().getName()),
                    "Arrow is a module");
        }
        require(ProcessMemory.get().stats().requestedBytesInUse() == 0, "the buffer is freed");
    }

    private static void require(boolean isTrue, String what) {
        if (!isTrue) {
            throw new AssertionError("not true: " + what);
        }
    }
}
