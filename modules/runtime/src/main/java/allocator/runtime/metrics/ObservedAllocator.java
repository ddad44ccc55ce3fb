package allocator.runtime.metrics;

import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.List;

/**
 * An instance of a provider's allocator that sessions or the environment use. Methods may be called at any time by any
 * thread, also after the instance was released: then there are no users and no statistics. It does not keep the
 * allocator.
 */
public interface ObservedAllocator {
    /** {@return the number of the instance, from 1, which no other instance of this environment has} */
    long number();

    /** {@return the provider's name, or {@code application}} */
    String provider();

    /** {@return the memory that the allocator serves} */
    MemoryInfo memory();

    /** {@return the sessions and environment that use the instance now, with live blocks; empty once it is released} */
    List<User> users();

    /** {@return the statistics; {@link AllocatorStats#NONE} once it is released, or if the provider fails} */
    AllocatorStats stats();
}
