/** What planning takes, and what a plan saves. */
@NullMarked
package allocator.bench.planner;

import org.jspecify.annotations.NullMarked;
