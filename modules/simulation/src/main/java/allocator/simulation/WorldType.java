package allocator.simulation;

import static allocator.simulation.Op.Kind.ALLOC;
import static allocator.simulation.Op.Kind.ALLOC_ON_STREAM;
import static allocator.simulation.Op.Kind.CLOSE;
import static allocator.simulation.Op.Kind.CLOSE_STREAM;
import static allocator.simulation.Op.Kind.CONTEND;
import static allocator.simulation.Op.Kind.END_RUN;
import static allocator.simulation.Op.Kind.FREE;
import static allocator.simulation.Op.Kind.OPEN;
import static allocator.simulation.Op.Kind.REPLACE;
import static allocator.simulation.Op.Kind.RESERVE;
import static allocator.simulation.Op.Kind.RESET;
import static allocator.simulation.Op.Kind.RUN;
import static allocator.simulation.Op.Kind.SHRINK;
import static allocator.simulation.Op.Kind.STATS;
import static allocator.simulation.Op.Kind.USE;
import static allocator.simulation.Op.Kind.WAIT;

import allocator.simulation.world.ArenaWorld;
import allocator.simulation.world.LifetimeWorld;
import allocator.simulation.world.PoolWorld;
import allocator.simulation.world.ProviderWorld;
import allocator.simulation.world.ResourceWorld;
import allocator.simulation.world.RuntimeWorld;
import allocator.simulation.world.SharedBumpWorld;
import java.util.List;
import java.util.SplittableRandom;

/** The systems under test. */
public enum WorldType {
    /** An arena with best fit or quick fit, on a simulated device. */
    ARENA,
    /** An arena on pages of a simulated device, with streams that lag. */
    PAGES,
    /** A bump allocator on a simulated device. */
    BUMP,
    /** A bump arena for several threads. */
    SHARED_BUMP,
    /** The host provider, on a simulated heap: sessions that open, run on streams and close. */
    PROVIDER,
    /** The pools and the raw memory of the CUDA providers, on a simulated device whose streams lag. */
    POOL,
    /** Decorators of memory resources, with budgets, above an arena or a device. */
    RESOURCE,
    /** An environment with sessions that open, run and close. */
    RUNTIME,
    /** A session that closes during runs, and an allocator of the application that is unregistered while it is used. */
    LIFETIME;

    private static final List<Op.Kind> ON_STREAMS = List.of(
            ALLOC,
            ALLOC,
            ALLOC,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            RESERVE,
            FREE,
            FREE,
            FREE,
            FREE,
            FREE,
            FREE,
            END_RUN,
            CLOSE_STREAM,
            WAIT,
            WAIT,
            SHRINK,
            STATS,
            CONTEND,
            CLOSE);
    private static final List<Op.Kind> OF_SHARED_BUMP = List.of(ALLOC, ALLOC, ALLOC, ALLOC, ALLOC, RESET, STATS);
    private static final List<Op.Kind> OF_PROVIDER =
            List.of(OPEN, CLOSE, ALLOC_ON_STREAM, ALLOC_ON_STREAM, FREE, END_RUN, CLOSE_STREAM, STATS);
    private static final List<Op.Kind> OF_POOL = List.of(
            ALLOC,
            ALLOC,
            RESERVE,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            FREE,
            FREE,
            FREE,
            FREE,
            FREE,
            USE,
            USE,
            USE,
            END_RUN,
            CLOSE_STREAM,
            CLOSE_STREAM,
            WAIT,
            SHRINK,
            STATS,
            STATS,
            OPEN,
            CLOSE);
    private static final List<Op.Kind> OF_RESOURCE = List.of(
            ALLOC,
            ALLOC,
            ALLOC,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            ALLOC_ON_STREAM,
            RESERVE,
            FREE,
            FREE,
            FREE,
            FREE,
            FREE,
            END_RUN,
            WAIT,
            SHRINK,
            STATS);
    private static final List<Op.Kind> OF_RUNTIME = List.of(
            OPEN, OPEN, CLOSE, CLOSE, ALLOC, ALLOC, ALLOC, RUN, RUN, RESERVE, FREE, FREE, FREE, FREE, SHRINK, STATS,
            REPLACE);
    private static final List<Op.Kind> OF_LIFETIME = List.of(
            RUN, RUN, RUN, RUN, CLOSE, CLOSE, REPLACE, REPLACE, REPLACE, ALLOC, ALLOC, ALLOC, FREE, FREE, FREE, STATS);

    /** Returns the kinds of operations, as often as they shall occur. */
    List<Op.Kind> kinds() {
        return switch (this) {
            case ARENA, PAGES, BUMP -> ON_STREAMS;
            case SHARED_BUMP -> OF_SHARED_BUMP;
            case PROVIDER -> OF_PROVIDER;
            case POOL -> OF_POOL;
            case RESOURCE -> OF_RESOURCE;
            case RUNTIME -> OF_RUNTIME;
            case LIFETIME -> OF_LIFETIME;
        };
    }

    /** Opens a system with settings that a seed decides. */
    World open(long settings) {
        final SplittableRandom random = new SplittableRandom(settings);
        return switch (this) {
            case ARENA -> ArenaWorld.bfc(random);
            case PAGES -> ArenaWorld.pages(random);
            case BUMP -> ArenaWorld.bump(random);
            case SHARED_BUMP -> new SharedBumpWorld(random);
            case PROVIDER -> new ProviderWorld(random);
            case POOL -> new PoolWorld(random);
            case RESOURCE -> new ResourceWorld(random);
            case RUNTIME -> new RuntimeWorld(random);
            case LIFETIME -> new LifetimeWorld(random);
        };
    }
}
