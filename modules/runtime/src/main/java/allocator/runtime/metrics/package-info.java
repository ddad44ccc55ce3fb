/**
 * Allocators as monitoring sees them: {@link allocator.runtime.Environment#observe} reports each instance of a
 * provider's allocator while it is in use. {@link allocator.runtime.metrics.AllocatorMXBean} is what JMX shows of one.
 */
@NullMarked
package allocator.runtime.metrics;

import org.jspecify.annotations.NullMarked;
