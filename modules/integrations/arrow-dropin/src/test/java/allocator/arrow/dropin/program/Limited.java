package allocator.arrow.dropin.program;

import allocator.arrow.ProcessMemory;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;

/** Allocates until the limit, gives back, and goes on. Argument: the limit in bytes. */
public final class Limited {
    private Limited() {}

    /** Runs it. */
    public static void main(String[] args) {
        final long limit = Long.parseLong(args[0]);
        final List<ArrowBuf> buffers = new ArrayList<>();
        try (BufferAllocator root = new RootAllocator()) {
            for (int round = 0; round < 3; round++) {
                try {
                    while (true) {
                        buffers.add(root.buffer(1 << 20));
                    }
                } catch (OutOfMemoryException e) {
                    if (!(e.getCause() instanceof allocator.spi.OutOfMemoryException cause)
                            || cause.shortage().limit() != limit) {
                        throw new AssertionError("not our failure", e);
                    }
                }
                if (ProcessMemory.get().stats().peakBytesHeld() > limit || buffers.size() < 16) {
                    throw new AssertionError(ProcessMemory.get().stats() + ", " + buffers.size() + " buffers");
                }
                buffers.forEach(ArrowBuf::close);
                buffers.clear();
            }
        }
    }
}
