/** What the comparing programs share: medians, ratios with their intervals, and the processors of side-by-side runs. */
@NullMarked
package allocator.bench.sampling;

import org.jspecify.annotations.NullMarked;
