/**
 * Events of the JDK Flight Recorder: what allocators, sessions and bridges do, under one naming scheme.
 * {@link allocator.provider.support.event.AllocatorEvents} is the only door. Without the module {@code jdk.jfr} in the
 * runtime image nothing is recorded, and nothing else changes.
 *
 * <p>The settings file {@code java-allocator.jfc}, in the root of this module's jar, makes a recording that has these
 * events and no others.
 */
@NullMarked
package allocator.provider.support.event;

import org.jspecify.annotations.NullMarked;
