package allocator.arrow;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The sample of the module's page. */
final class ArrowExample {
    private ArrowExample() {}

    static void run() {
        try (ArrowMemory memory = ArrowMemory.builder()
                        .option("arena.max_mem", "268435456")
                        .trackLeaks()
                        .open();
                BufferAllocator root = new RootAllocator(RootAllocator.configBuilder()
                        .allocationManagerFactory(memory)
                        .build())) {
            use(root);
            System.out.println(memory.stats().requestedBytesInUse() + " bytes in use, "
                    + memory.stats().bytesHeld() + " held");
            System.out.println(memory.shrink());
            System.out.println(memory.liveBuffers());
        }
    }

    private static void use(BufferAllocator root) {
        try (ArrowBuf buffer = root.buffer(1000)) {
            buffer.setLong(0, 1);
        }
    }
}
