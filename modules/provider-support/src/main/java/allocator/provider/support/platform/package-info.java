/**
 * What native code depends on: the operating system, the processor, and the C library's names for the same functions.
 * {@link allocator.provider.support.platform.Platform} is the only place that reads {@code os.name} and
 * {@code os.arch}, apart from {@code jcuda.LibUtils}, which JCuda's own classes call.
 *
 * <p>A part that a platform does not have is rejected when it is configured, with
 * {@link allocator.provider.support.platform.Platform#lacks}. {@code docs/platforms.md} lists these parts.
 *
 * <p>Internal: exported for the modules of this project, without a promise across versions.
 */
@NullMarked
package allocator.provider.support.platform;

import org.jspecify.annotations.NullMarked;
