/** Benchmarks of the allocators, each beside its rivals. */
@NullMarked
package allocator.bench;

import org.jspecify.annotations.NullMarked;
