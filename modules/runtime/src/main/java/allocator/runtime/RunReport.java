package allocator.runtime;

import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a run did besides its work.
 *
 * @param streams how many streams it used
 * @param shrunk what the run option {@link RunOptions#SHRINK_KEY} led to, in the order of the list
 */
public record RunReport(int streams, List<Shrunk> shrunk) {
    /** Copies the list. */
    public RunReport {
        shrunk = List.copyOf(shrunk);
    }

    /**
     * One arena that was to be shrunk: exactly one of the two outcomes is there.
     *
     * @param memory the arena's memory
     * @param report what went back, or {@code null} if the shrink failed
     * @param failure why it failed, or {@code null}; the run's work is not affected by it
     */
    public record Shrunk(
            MemoryInfo memory,
            @Nullable ShrinkReport report,
            @Nullable AllocatorException failure) {}
}
