package allocator.runtime.inspection;

import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.Site;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Sums up live blocks by owner, memory and call site. */
final class LeakSums {
    /** The most call sites that are listed. */
    static final int MOST_SITES = 100;

    private record Place(String owner, String memory, String frame) {}

    private static final class Sum {
        private long blocks;
        private long bytes;
        private long oldestMillis;

        void add(Site site) {
            blocks++;
            bytes += site.byteSize();
            oldestMillis = Math.max(oldestMillis, site.ageMillis());
        }
    }

    private LeakSums() {}

    /**
     * Sums up.
     *
     * @param uses the uses that have live blocks
     */
    static Leaks of(String closed, List<AllocatorUse> uses) {
        final Map<Place, Sum> sums = new HashMap<>();
        long blocks = 0;
        long recorded = 0;
        for (final AllocatorUse use : uses) {
            final Map<Long, Site> sites = new HashMap<>();
            use.sites().accept(sites);
            live(use).ifPresent(sites.keySet()::retainAll);
            sites.values()
                    .forEach(site -> sums.computeIfAbsent(
                                    new Place(site.owner(), use.info().toString(), site.frame()), _ -> new Sum())
                            .add(site));
            blocks += Math.max(use.liveBlocks().getAsLong(), sites.size());
            recorded += sites.size();
        }
        final List<LeakSite> ranked = sums.entrySet().stream()
                .map(entry -> site(entry.getKey(), entry.getValue()))
                .sorted(Comparator.comparingLong(LeakSite::bytes)
                        .reversed()
                        .thenComparing(LeakSite::frame)
                        .thenComparing(LeakSite::owner))
                .toList();
        final int listed = Math.min(MOST_SITES, ranked.size());
        return new Leaks(closed, blocks, recorded, ranked.subList(0, listed), ranked.size() - listed);
    }

    private static LeakSite site(Place place, Sum sum) {
        return new LeakSite(place.owner(), place.memory(), place.frame(), sum.blocks, sum.bytes, sum.oldestMillis);
    }

    /**
     * Returns the addresses of live blocks, if the allocator lists them: a block that another owner has freed is still
     * recorded for the one that allocated it.
     */
    private static Optional<Set<Long>> live(AllocatorUse use) {
        try {
            return use.inspect().get().map(AllocatorUse::liveAddresses);
        } catch (RuntimeException e) {
            return Optional.empty(); // it is released, or its provider fails
        }
    }
}
