package allocator.simulation;

import allocator.simulation.world.ArenaWorld;
import allocator.simulation.world.LifetimeWorld;
import allocator.simulation.world.PoolWorld;
import allocator.simulation.world.ProviderWorld;
import allocator.simulation.world.ResourceWorld;
import allocator.simulation.world.RuntimeWorld;
import allocator.simulation.world.SharedBumpWorld;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;

/** The systems under test. */
public enum WorldType {
    /** An arena with best fit or slabs, on a simulated device. */
    ARENA(ArenaWorld::bfc, Kinds.ON_STREAMS),
    /** An arena on pages of a simulated device, with streams that lag. */
    PAGES(ArenaWorld::pages, Kinds.ON_STREAMS),
    /** A bump allocator on a simulated device. */
    BUMP(ArenaWorld::bump, Kinds.ON_STREAMS),
    /** A bump arena for several threads. */
    SHARED_BUMP(SharedBumpWorld::new, "ALLOC*5 RESET STATS"),
    /** The host provider, on a simulated heap: sessions that open, run on streams and close. */
    PROVIDER(ProviderWorld::new, "OPEN CLOSE ALLOC_ON_STREAM*2 FREE END_RUN CLOSE_STREAM STATS"),
    /** The pools and the raw memory of the CUDA providers, on a simulated device whose streams lag. */
    POOL(
            PoolWorld::new,
            "ALLOC*2 RESERVE ALLOC_ON_STREAM*4 FREE*5 USE*3 END_RUN CLOSE_STREAM*2 WAIT SHRINK STATS*2 OPEN CLOSE"),
    /** Decorators of memory resources, with budgets, above an arena or a device. */
    RESOURCE(ResourceWorld::new, "ALLOC*3 ALLOC_ON_STREAM*3 RESERVE FREE*4 END_RUN WAIT SHRINK STATS"),
    /** An environment with sessions that open, run and close. */
    RUNTIME(RuntimeWorld::new, "OPEN*2 CLOSE*2 ALLOC*3 RUN*2 RESERVE FREE*4 SHRINK STATS REPLACE"),
    /** A session that closes during runs, and an allocator of the application that is unregistered while it is used. */
    LIFETIME(LifetimeWorld::new, "RUN*4 CLOSE*2 REPLACE*3 ALLOC*3 FREE*3 STATS");

    private static final class Kinds {
        private static final String ON_STREAMS =
                "ALLOC*3 ALLOC_ON_STREAM*4 RESERVE FREE*6 END_RUN CLOSE_STREAM WAIT*2 SHRINK STATS CONTEND CLOSE";
    }

    @SuppressWarnings("ImmutableEnumChecker") // a reference to a constructor or a static method
    private final Function<SplittableRandom, World> opener;

    @SuppressWarnings("ImmutableEnumChecker") // never changed
    private final List<Op.Kind> kinds;

    /** Each kind of operation is followed by how often it shall occur, if that is more than once. */
    WorldType(Function<SplittableRandom, World> opener, String kinds) {
        this.opener = opener;
        final List<Op.Kind> all = new ArrayList<>();
        for (final String each : kinds.split(" ", -1)) {
            final String[] parts = each.split("\\*", -1);
            all.addAll(
                    Collections.nCopies(parts.length == 1 ? 1 : Integer.parseInt(parts[1]), Op.Kind.valueOf(parts[0])));
        }
        this.kinds = List.copyOf(all);
    }

    /** Returns the kinds of operations, as often as they shall occur. */
    List<Op.Kind> kinds() {
        return kinds;
    }

    /** Opens a system with settings that a seed decides. */
    World open(long settings) {
        return opener.apply(new SplittableRandom(settings));
    }
}
