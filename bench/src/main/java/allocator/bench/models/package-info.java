/** What a model's run costs, and what it keeps, with ONNX Runtime's arena and with ours. */
@NullMarked
package allocator.bench.models;

import org.jspecify.annotations.NullMarked;
