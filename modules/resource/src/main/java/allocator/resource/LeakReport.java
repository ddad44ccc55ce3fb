package allocator.resource;

import java.util.List;

/**
 * What was allocated and not deallocated, by where it was allocated, the most bytes first.
 *
 * @param sites where; empty if nothing is outstanding
 * @param samplingInterval one of how many allocations was looked at on average, {@code 1} for all of them
 */
public record LeakReport(List<Site> sites, int samplingInterval) {
    /**
     * A place in the program that allocated what is outstanding.
     *
     * @param frames the stack of the allocation, innermost first
     * @param bytes bytes outstanding
     * @param blocks allocations outstanding
     */
    public record Site(List<StackTraceElement> frames, long bytes, long blocks) {
        /** Copies the frames. */
        public Site {
            frames = List.copyOf(frames);
        }
    }

    /** Copies the sites. */
    public LeakReport {
        sites = List.copyOf(sites);
    }

    /**
     * All that is outstanding, as far as it was looked at.
     *
     * @return bytes
     */
    public long bytes() {
        return sites.stream().mapToLong(Site::bytes).sum();
    }

    /**
     * All that is outstanding, as far as it was looked at.
     *
     * @return allocations
     */
    public long blocks() {
        return sites.stream().mapToLong(Site::blocks).sum();
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder();
        text.append(bytes()).append(" bytes in ").append(blocks()).append(" blocks not deallocated");
        if (samplingInterval > 1) {
            text.append(" among one in ").append(samplingInterval).append(" allocations");
        }
        for (Site site : sites) {
            text.append("\n  ")
                    .append(site.bytes)
                    .append(" bytes in ")
                    .append(site.blocks)
                    .append(" blocks from");
            site.frames.forEach(frame -> text.append("\n    at ").append(frame));
        }
        return text.toString();
    }
}
