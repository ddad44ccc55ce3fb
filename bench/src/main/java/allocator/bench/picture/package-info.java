/** Pictures of results, as SVG. */
@NullMarked
package allocator.bench.picture;

import org.jspecify.annotations.NullMarked;
