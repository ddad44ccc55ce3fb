package com.example;

import allocator.arrow.ArrowMemory;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;

/** Buffers of Apache Arrow in at most 64 MiB of native memory. */
public final class CappedBuffers {
    private CappedBuffers() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (ArrowMemory memory = ArrowMemory.builder()
                        .option("arena.max_mem", "67108864")
                        .open();
                BufferAllocator root = new RootAllocator(RootAllocator.configBuilder()
                        .allocationManagerFactory(memory)
                        .build())) {
            try (ArrowBuf column = root.buffer(16L << 20)) {
                column.setLong(0, 1);
                System.out.println(memory.stats().bytesInUse() + " bytes in use");
                root.buffer(128L << 20);
            } catch (OutOfMemoryException e) {
                System.out.println(e.getCause().getMessage());
            }
            System.out.println(memory.shrink());
        }
    }
}
