/**
 * Native memory of tasks of Apache Spark: one limit for each executor, a budget for each task, gauges and reports.
 *
 * <p>Start at {@link allocator.spark.AllocatorPlugin}, which an application names in {@code spark.plugins}, and at
 * {@link allocator.spark.TaskMemory}, from which the code of a task allocates. {@link allocator.spark.Inference} runs
 * an ONNX model over the rows of a partition. All of it is for Spark for Scala 2.13, on the class path.
 */
@NullMarked
package allocator.spark;

import org.jspecify.annotations.NullMarked;
