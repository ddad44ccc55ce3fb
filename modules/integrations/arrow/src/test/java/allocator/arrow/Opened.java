package allocator.arrow;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What a test opens; closed after it in reverse order, so a test that leaves a buffer fails. */
final class Opened implements AfterEachCallback {
    static final long MIB = 1 << 20;

    private final List<AutoCloseable> opened = new ArrayList<>();

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        for (final AutoCloseable one : opened.reversed()) {
            one.close();
        }
    }

    ArrowMemory memory(ArrowMemoryBuilder builder) {
        final ArrowMemory memory = builder.open();
        opened.add(memory);
        return memory;
    }

    BufferAllocator root(ArrowMemory memory) {
        final BufferAllocator root = newRoot(memory);
        opened.add(root);
        return root;
    }

    BufferAllocator child(BufferAllocator parent, String name) {
        return child(parent, name, Long.MAX_VALUE);
    }

    BufferAllocator child(BufferAllocator parent, String name, long limit) {
        final BufferAllocator child = parent.newChildAllocator(name, 0, limit);
        opened.add(child);
        return child;
    }

    /** A root allocator that the test closes, or leaves. */
    static BufferAllocator newRoot(ArrowMemory memory) {
        return new RootAllocator(
                RootAllocator.configBuilder().allocationManagerFactory(memory).build());
    }

    static long inUse(ArrowMemory memory) {
        return memory.stats().requestedBytesInUse();
    }
}
