/** What allocators hold beside what lives, over the events of a trace and at its peak. */
@NullMarked
package allocator.bench.held;

import org.jspecify.annotations.NullMarked;
