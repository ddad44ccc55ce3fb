/** Meters of allocators for Micrometer. */
@NullMarked
package allocator.micrometer;

import org.jspecify.annotations.NullMarked;
