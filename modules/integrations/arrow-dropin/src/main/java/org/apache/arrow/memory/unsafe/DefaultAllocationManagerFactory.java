package org.apache.arrow.memory.unsafe;

import allocator.arrow.ProcessMemory;
import org.apache.arrow.memory.AllocationManager;

/** Arrow's default allocation manager. Arrow finds this class by its name, and reads the field. */
public final class DefaultAllocationManagerFactory {
    /** Allocates from the memory of the process. */
    public static final AllocationManager.Factory FACTORY = ProcessMemory.factory();

    private DefaultAllocationManagerFactory() {}
}
