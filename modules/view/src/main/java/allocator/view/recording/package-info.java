/**
 * Reads recordings of the JDK Flight Recorder: what allocators, sessions and devices did. Start at
 * {@link allocator.view.recording.Recording}.
 */
@NullMarked
package allocator.view.recording;

import org.jspecify.annotations.NullMarked;
