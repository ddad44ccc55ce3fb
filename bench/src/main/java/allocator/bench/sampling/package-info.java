/** What the comparing programs share: medians, and the processors of runs side by side. */
@NullMarked
package allocator.bench.sampling;

import org.jspecify.annotations.NullMarked;
