/**
 * The CUDA providers beside C++ rivals, on a GPU: replays of the bundled traces, and alloc+free pairs from many
 * threads. {@code bench/gpu/run-bench} runs all of it; {@code bench/rivals} has the rivals.
 */
@NullMarked
package allocator.bench.gpu;

import org.jspecify.annotations.NullMarked;
