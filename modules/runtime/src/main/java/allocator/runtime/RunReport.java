package allocator.runtime;

import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a run did besides its work.
 *
 * @param streams the number of streams that it used
 * @param shrunk the arenas that {@link RunOptions#SHRINK_KEY} names, in the order of the list
 */
public record RunReport(int streams, List<Shrunk> shrunk) {
    /** Copies the list. */
    public RunReport {
        shrunk = List.copyOf(shrunk);
    }

    /**
     * An arena that was to be shrunk. Exactly one of report and failure is present.
     *
     * @param memory the arena's memory
     * @param report what was released, or {@code null} if the shrink failed
     * @param failure why it failed, or {@code null}; the run's work is not affected by it
     */
    public record Shrunk(
            MemoryInfo memory,
            @Nullable ShrinkReport report,
            @Nullable AllocatorException failure) {}
}
