package com.example;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Map;

/** Host memory through a session: segments, statistics, limit, shrink. */
public final class FirstUse {
    private FirstUse() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (Environment environment = Environment.create();
                Session session = environment.openSession("cpu-reference", Map.of("arena.max_mem", "64m"));
                Arena arena = session.newArena()) {
            arena.allocate(100_000).set(ValueLayout.JAVA_FLOAT, 0, 1.5f);

            final ManagedAllocator allocator = session.allocator();
            final AllocatorStats stats = allocator.stats();
            System.out.println(stats.bytesInUse() + " bytes in use, " + stats.bytesHeld() + " held");

            try {
                arena.allocate(100_000_000);
            } catch (OutOfMemoryException e) {
                System.out.println("limit: " + e.shortage().limit());
            }

            final long block = allocator.alloc(4096); // an address, for native code
            allocator.free(block);

            final ShrinkReport report = allocator.shrink();
            System.out.println(report.bytesReleased() + " bytes released, " + report.bytesHeld() + " stay");
        }
    }
}
