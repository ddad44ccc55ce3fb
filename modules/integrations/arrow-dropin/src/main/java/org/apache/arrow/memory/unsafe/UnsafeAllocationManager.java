package org.apache.arrow.memory.unsafe;

import allocator.arrow.ProcessMemory;
import org.apache.arrow.memory.AllocationManager;

/**
 * The same under the name that Arrow reads where {@code arrow.allocation.manager.type} is {@code Unsafe}, and that
 * programs name which choose the manager themselves.
 */
public final class UnsafeAllocationManager {
    /** Allocates from the memory of the process. */
    public static final AllocationManager.Factory FACTORY = ProcessMemory.factory();

    private UnsafeAllocationManager() {}
}
