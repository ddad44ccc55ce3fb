package allocator.view;

import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.plan.PlanFileException;
import allocator.planner.Planner;
import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.snapshot.Snapshot;
import allocator.spi.AllocatorOptions;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.trace.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/** What the pictures of the documents show. */
final class RealPages {
    private static final Path MINIMALLOC =
            Path.of("..", "planner", "src", "test", "resources", "allocator", "planner", "minimalloc");

    private static final long MINIMALLOC_CAPACITY = 1_048_576;
    private static final long MOST_STEPS = 10_000_000;

    private RealPages() {}

    /** A session that runs out of memory while much of it waits for another stream. */
    static Snapshot failure(Path directory) throws IOException {
        final Path snapshots = directory.resolve("snapshots");
        try (Environment environment = Environment.builder()
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, snapshots.toString())
                        .build();
                Session session = environment.openSession(SessionOptions.builder()
                        .name("bert")
                        .provider("cpu-reference")
                        .option(SessionOptions.CALL_SITES.name(), "1")
                        .option("ep.cpu-reference.arena.max_mem", Long.toString(64 << 20))
                        .build())) {
            final List<Long> live = new ArrayList<>();
            try {
                serve(session.allocator(), session.openStream(), session.openStream(), live);
            } catch (OutOfMemoryException e) {
                live.forEach(session.allocator()::free);
            }
        }
        try (Stream<Path> files = Files.list(snapshots)) {
            return SnapshotFile.read(files.findFirst().orElseThrow());
        }
    }

    private static void serve(ManagedAllocator allocator, SyncStream encoder, SyncStream decoder, List<Long> live) {
        final Random random = new Random(5);
        live.add(allocator.reserve(3 << 20));
        while (true) {
            final long byteSize = (1L << (8 + random.nextInt(14))) + random.nextInt(4096);
            live.add(
                    switch (random.nextInt(3)) {
                        case 0 -> weights(allocator, byteSize);
                        case 1 -> activations(allocator, byteSize, encoder);
                        default -> activations(allocator, byteSize, decoder);
                    });
            if (live.size() > 40 && random.nextInt(3) != 0) {
                allocator.free(live.remove(1 + random.nextInt(live.size() - 1)));
            }
        }
    }

    private static long weights(ManagedAllocator allocator, long byteSize) {
        return allocator.alloc(byteSize);
    }

    private static long activations(ManagedAllocator allocator, long byteSize, SyncStream stream) {
        return allocator.allocOnStream(byteSize, stream);
    }

    /** An input of MiniMalloc, planned into the capacity that it is to fit, in the same way each time. */
    static String plan(String name) throws PlanFileException {
        final PlanFile file = PlanFile.read(MINIMALLOC.resolve(name + ".csv"));
        final Plan plan = Planner.builder()
                .capacity(MINIMALLOC_CAPACITY)
                .stepLimit(MOST_STEPS)
                .build()
                .plan(file.instance());
        final String subtitle = file.instance().size() + " blocks, an input of MiniMalloc";
        return Page.of(name, new PlannedBlocks(subtitle, file.ids(), file.instance(), plan, MINIMALLOC_CAPACITY));
    }

    /** A recorded model with the placement policies side by side. */
    static String trace(String name) throws IOException {
        final Trace trace = Trace.bundled(name);
        final List<TraceProfile> profiles = new ArrayList<>();
        try (Environment environment = Environment.builder().build()) {
            for (final String policy : List.of("best-fit", "slabs", "compact")) {
                profiles.add(Profiler.profile(
                        trace,
                        policy,
                        environment,
                        environment.devices().getFirst(),
                        AllocatorOptions.of(Map.of("arena.policy", policy)),
                        done -> {}));
            }
        }
        return Page.of(name, profiles);
    }
}
