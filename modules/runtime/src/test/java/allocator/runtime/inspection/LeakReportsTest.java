package allocator.runtime.inspection;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How large a report can be, and what providers may do to it. */
class LeakReportsTest {
    private static final MemoryInfo CPU = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    private static AllocatorUse use(
            String owner, long live, Supplier<Optional<AllocatorSnapshot>> inspect, Consumer<Map<Long, Site>> sites) {
        return new AllocatorUse(
                new Object(),
                "fake",
                CPU,
                new User(owner, live),
                () -> live,
                () -> false,
                inspect,
                () -> AllocatorStats.NONE,
                () -> AllocatorOptions.EMPTY,
                sites);
    }

    private static AllocatorUse use(
            long live, Supplier<Optional<AllocatorSnapshot>> inspect, Consumer<Map<Long, Site>> sites) {
        return use("bert", live, inspect, sites);
    }

    /** One line of the program may allocate for several sessions. */
    @Test
    void aReportOfTheEnvironmentSaysWhoseBlocksTheyAre() {
        final AllocatorUse one =
                use("one", 1, Optional::empty, sites -> sites.put(1L, new Site("one", "A.b(A.java:1)", 5, 7)));
        final AllocatorUse two =
                use("two", 1, Optional::empty, sites -> sites.put(2L, new Site("two", "A.b(A.java:1)", 5, 9)));
        try (Warnings warnings = new Warnings()) {
            new LeakReports(1, null).report("environment that cannot be closed", List.of(one, two), _ -> {
                throw new AssertionError();
            });
            assertThat(warnings.texts())
                    .containsExactly("environment that cannot be closed: 2 blocks are live, 2 of them recorded:"
                            + " 1 with 9 bytes of Cpu (cpu:0) for two at A.b(A.java:1);"
                            + " 1 with 7 bytes of Cpu (cpu:0) for one at A.b(A.java:1)");
        }
    }

    @Test
    void aDirectoryThatCannotBeWrittenIsTriedOnceAtFirst(@TempDir Path folder) throws Exception {
        final Path file = Files.createFile(folder.resolve("file"));
        final LeakReports reports = new LeakReports(1, file);
        try (Warnings warnings = new Warnings()) {
            for (int i = 0; i < 3; i++) {
                reports.report("session bert", List.of(use(1, Optional::empty, sites -> {})), _ -> {
                    throw new AssertionError();
                });
            }
            assertThat(warnings.texts()).hasSize(3);
            assertThat(warnings.texts().getFirst())
                    .contains("; no report in " + file + ": ")
                    .endsWith("; it is tried again after 1 s at the earliest");
            assertThat(warnings.texts().getLast()).isEqualTo("session bert: 1 block is live, 0 of them recorded");
        }
    }

    @Test
    void theCallSitesWithMostAreListedAndOthersCounted() {
        final Leaks leaks = LeakSums.of("session bert", List.of(use(500, Optional::empty, sites -> {
            for (long i = 1; i <= 250; i++) {
                sites.put(i, new Site("bert", "A.b(A.java:" + i + ")", 10 * i, i));
                sites.put(-i, new Site("bert", "A.b(A.java:" + i + ")", i, i));
            }
        })));
        assertThat(leaks.blocks()).isEqualTo(500);
        assertThat(leaks.recorded()).isEqualTo(500);
        assertThat(leaks.sites()).hasSize(LeakSums.MOST_SITES);
        assertThat(leaks.sites().getFirst())
                .isEqualTo(new LeakSite("bert", "Cpu (cpu:0)", "A.b(A.java:250)", 2, 500, 2500));
        assertThat(leaks.omittedSites()).isEqualTo(150);
    }

    @Test
    void aProviderThatCannotListItsChunksCostsNothing() {
        final Leaks leaks = LeakSums.of(
                "session bert",
                List.of(use(
                        3,
                        () -> {
                            throw new DeviceException("planted", null);
                        },
                        sites -> sites.put(1L, new Site("bert", "A.b(A.java:1)", 5, 7)))));
        assertThat(leaks.blocks()).isEqualTo(3);
        assertThat(leaks.sites()).hasSize(1);
    }

    @Test
    void anAllocatorOfManyChunksIsListedWithoutThem(@TempDir Path folder) throws Exception {
        final List<Chunk> blocks = new ArrayList<>();
        for (long i = 1; i <= LeakReports.MOST_CHUNKS + 1; i++) {
            blocks.add(new Chunk(i << 8, 256, 200, State.LIVE, 0));
        }
        final AllocatorState state = new AllocatorState(
                "fake",
                CPU,
                Map.of(),
                AllocatorStats.NONE,
                List.of(),
                new AllocatorSnapshot(List.of(), blocks),
                "",
                Map.of());
        new LeakReports(1, folder)
                .report(
                        "session bert",
                        List.of(use(1, Optional::empty, sites -> {})),
                        leaks -> new Snapshot(
                                Instant.EPOCH, "bert", null, leaks, List.of(), List.of(), List.of(state), List.of()));
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(Files.readString(files.findFirst().orElseThrow()))
                    .contains("\"missing\":\"a report of leaks has at most 100000 chunks, and this allocator 100001\"")
                    .contains("\"blocks\":[]");
        }
    }
}
