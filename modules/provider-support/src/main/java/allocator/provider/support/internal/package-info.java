/**
 * What the modules of this project share besides. Internal: exported for them, without a promise across versions.
 *
 * <p>No parameter accepts {@code null}, and no method returns it, unless marked.
 */
@NullMarked
package allocator.provider.support.internal;

import org.jspecify.annotations.NullMarked;
