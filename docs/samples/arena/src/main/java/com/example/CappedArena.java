package com.example;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** An arena of the JDK that takes at most 64 MiB. */
public final class CappedArena {
    private CappedArena() {}

    /** Runs it. */
    public static void main(String[] args) {
        final Budget images = Budget.of("images", 64L << 20);
        try (Arena arena = BudgetResource.arena(images)) {
            final MemorySegment image = arena.allocate(48L << 20);
            image.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            System.out.println(images);
            try {
                arena.allocate(32L << 20);
            } catch (OutOfMemoryException e) {
                System.out.println(e.getMessage());
            }
        }
        System.out.println(images);
    }
}
