/** What planning takes: {@code PlannerRun} is what {@code bench/run planner} starts. */
@NullMarked
package allocator.bench.planner;

import org.jspecify.annotations.NullMarked;
