package com.example.streams;

import allocator.runtime.Run;
import allocator.spi.MemoryRange;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** The code under test: copies a row on one stream, and its copy on another. */
final class Rows {
    private Rows() {}

    static void copyTwice(Run run, MemoryRange row, MemoryRange first, MemoryRange second) {
        final SyncStream copies = run.stream(0);
        final SyncStream compute = run.stream(1);
        run.transfers().copy(row, first, copies);
        try (SyncNotification copied = copies.createNotification()) {
            copied.activate();
            copied.waitOnDevice(compute);
        }
        run.transfers().copy(first, second, compute);
    }

    /** The same, but the wait is forgotten. */
    static void copyTwiceInARace(Run run, MemoryRange row, MemoryRange first, MemoryRange second) {
        final SyncStream copies = run.stream(0);
        final SyncStream compute = run.stream(1);
        run.transfers().copy(row, first, copies);
        run.transfers().copy(first, second, compute);
    }
}
