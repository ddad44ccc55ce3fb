/**
 * Pairs of a free and an allocation in the middle of a workload: our arena beside what else could be used, all in one
 * run.
 *
 * <p>{@link allocator.bench.pairs.Run} is what {@code bench/run} starts. It starts a JVM for each subject and group of
 * workloads ({@code Measurement}), again in each round, and puts what they write in a table and a picture.
 * {@link allocator.bench.pairs.JmhRun} compares these figures with those of JMH forks in the same rounds. For
 * {@code bench/compare}, which starts its JVMs itself, {@link allocator.bench.pairs.Measurement#nanos} measures one
 * cell.
 */
@NullMarked
package allocator.bench.pairs;

import org.jspecify.annotations.NullMarked;
