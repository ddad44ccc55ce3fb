/** A stage of inference of Apache Spark, with the plug-in and without. */
@NullMarked
package allocator.bench.spark;

import org.jspecify.annotations.NullMarked;
