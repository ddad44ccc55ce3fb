/**
 * What an operation costs beside many others of its kind: blocks, streams, sessions, threads. Each {@code Crowd} is a
 * kind.
 */
@NullMarked
package allocator.bench.scale;

import org.jspecify.annotations.NullMarked;
