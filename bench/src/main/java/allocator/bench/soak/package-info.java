/** Minutes of work in one process, to see whether its memory stays as it is. */
@NullMarked
package allocator.bench.soak;

import org.jspecify.annotations.NullMarked;
