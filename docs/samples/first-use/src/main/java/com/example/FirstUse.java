package com.example;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.lang.foreign.ValueLayout;

/** Host memory through a session: allocate, statistics, limit, shrink. */
public final class FirstUse {
    private FirstUse() {}

    /** Runs it. */
    public static void main(String[] args) {
        final SessionOptions options = SessionOptions.builder()
                .name("first-use")
                .provider("cpu-reference")
                .option("ep.cpu-reference.arena.max_mem", "67108864")
                .build();
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(options)) {
            final ManagedAllocator allocator = session.allocator();

            final long tensor = allocator.alloc(100_000);
            allocator.segment(tensor, 100_000).set(ValueLayout.JAVA_FLOAT, 0, 1.5f);
            final AllocatorStats stats = allocator.stats();
            System.out.println(stats.bytesInUse() + " bytes in use, " + stats.bytesHeld() + " held");
            allocator.free(tensor);

            try {
                allocator.alloc(100_000_000);
            } catch (OutOfMemoryException e) {
                System.out.println("limit: " + e.shortage().limit());
            }

            final ShrinkReport report = session.shrink(allocator.info().location());
            System.out.println(report.bytesReleased() + " bytes released, " + report.bytesHeld() + " stay");
        }
    }
}
