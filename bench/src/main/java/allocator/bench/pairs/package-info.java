/**
 * Pairs of a free and an allocation in the middle of a workload: our arena beside what else could be used, all in one
 * run.
 *
 * <p>{@link allocator.bench.pairs.Rivals} is what {@code bench/run} starts.
 */
@NullMarked
package allocator.bench.pairs;

import org.jspecify.annotations.NullMarked;
