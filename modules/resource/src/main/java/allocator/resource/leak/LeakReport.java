package allocator.resource.leak;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The outstanding allocations, those not deallocated yet, grouped by allocation site.
 *
 * @param sites the allocation sites, the most bytes first; empty if nothing is outstanding
 * @param samplingInterval one in how many allocations is recorded on average, {@code 1} for all
 */
public record LeakReport(List<Site> sites, int samplingInterval) {
    /**
     * An allocation site.
     *
     * @param frames the stack of the allocation, innermost frame first
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
     * Groups allocations by their stacks.
     *
     * @param allocations a site for each allocation
     * @param samplingInterval one in how many allocations is recorded on average, {@code 1} for all
     * @return the report
     */
    public static LeakReport of(Stream<Site> allocations, int samplingInterval) {
        final Map<List<StackTraceElement>, Site> sites = new LinkedHashMap<>();
        allocations.forEach(site ->
                sites.merge(site.frames, site, (a, b) -> new Site(a.frames, a.bytes + b.bytes, a.blocks + b.blocks)));
        return new LeakReport(
                sites.values().stream()
                        .sorted(Comparator.comparingLong(Site::bytes).reversed())
                        .toList(),
                samplingInterval);
    }

    /** {@return the outstanding bytes of the recorded allocations} */
    public long bytes() {
        return sites.stream().mapToLong(Site::bytes).sum();
    }

    /** {@return the number of outstanding recorded allocations} */
    public long blocks() {
        return sites.stream().mapToLong(Site::blocks).sum();
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder();
        text.append(bytes()).append(" bytes in ").append(count(blocks())).append(" not deallocated");
        if (samplingInterval > 1) {
            text.append(" among one in ").append(samplingInterval).append(" allocations");
        }
        for (Site site : sites) {
            text.append("\n  " + site.bytes + " bytes in " + count(site.blocks) + " from");
            site.frames.forEach(frame -> text.append("\n    at ").append(frame));
        }
        return text.toString();
    }

    private static String count(long blocks) {
        return blocks + (blocks == 1 ? " block" : " blocks");
    }
}
