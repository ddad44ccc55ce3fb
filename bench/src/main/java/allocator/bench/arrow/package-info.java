/** Buffers of Apache Arrow in our memory, beside Arrow's own managers. */
@NullMarked
package allocator.bench.arrow;

import org.jspecify.annotations.NullMarked;
