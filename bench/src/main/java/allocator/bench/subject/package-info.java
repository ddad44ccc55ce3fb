/** The allocators that are measured, ours and rivals, each behind the same interface. */
@NullMarked
package allocator.bench.subject;

import org.jspecify.annotations.NullMarked;
