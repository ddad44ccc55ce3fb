package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Event.Kind;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.runtime.snapshot.SnapshotJson;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidOptionException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeFactory;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Snapshots of environments and sessions, and those that are written when a request fails. */
class SnapshotTest {
    private static final String MAX_MEM = "ep.cpu-reference.arena.max_mem";
    private static final long LIMIT = 1 << 20;

    @TempDir
    private Path folder;

    private static Environment open(Map<String, String> options) {
        final EnvironmentBuilder builder = Environment.builder();
        options.forEach(builder::option);
        return builder.build();
    }

    private static Session limited(Environment environment, String name) {
        return environment.openSession(SessionOptions.builder()
                .name(name)
                .provider("cpu-reference")
                .option(MAX_MEM, Long.toString(LIMIT))
                .build());
    }

    private static void exhaust(Session session) {
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> session.allocator().alloc(8 * LIMIT))
                .withMessageContaining("Available memory of");
    }

    private static List<Path> files(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Nested
    class History {
        @Test
        void whatHappenedBeforeIsListed() {
            try (Environment environment = open(Map.of(EnvironmentBuilder.HISTORY, "100"));
                    Session session = limited(environment, "bert")) {
                final long block = session.allocator().alloc(1000);
                session.allocator().free(block);
                exhaust(session);
                assertThat(session.snapshot().history())
                        .extracting(Event::kind)
                        .containsExactly(Kind.GROWTH, Kind.ALLOCATION, Kind.FREE, Kind.FAILURE);
                assertThat(environment.snapshot().history().get(1)).satisfies(event -> {
                    assertThat(event.owner()).isEqualTo("bert");
                    assertThat(event.memory()).isEqualTo("Cpu");
                    assertThat(event.address()).isEqualTo(block);
                    assertThat(event.byteSize()).isEqualTo(1000);
                });
            }
            try (Environment environment = open(Map.of())) {
                assertThat(environment.snapshot().history()).isEmpty();
            }
        }

        @ParameterizedTest
        @ValueSource(strings = {"-1", "x", "99999999"})
        void otherNumbersAreRejected(String value) {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> Environment.builder().option(EnvironmentBuilder.HISTORY, value))
                    .withMessageContaining(EnvironmentBuilder.HISTORY)
                    .withMessageContaining("from 0 to 4194304");
        }
    }

    @Nested
    class OnRequest {
        @Test
        void aSessionIsListedWithItsAllocatorsAndTheirChunks() {
            try (Environment environment = open(Map.of());
                    Session session = limited(environment, "bert");
                    Session other = limited(environment, "other")) {
                final long block = session.allocator().alloc(1000);
                final long foreign = other.allocator().alloc(1000);

                final Snapshot snapshot = session.snapshot();

                assertThat(snapshot.scope()).isEqualTo("bert");
                assertThat(snapshot.failure()).isNull();
                assertThat(snapshot.sessions()).containsExactly(new SessionState("bert", false, 1));
                assertThat(snapshot.devices())
                        .extracting(Snapshot.Device::provider)
                        .containsExactly("cpu-reference");
                final AllocatorState arena = snapshot.allocators().getFirst();
                assertThat(arena.users()).containsExactly(new User("bert", 1));
                assertThat(arena.missing()).isEmpty();
                assertThat(arena.options()).containsEntry("arena.max_mem", Long.toString(LIMIT));
                assertThat(arena.stats().bytesInUse()).isEqualTo(1024);
                assertThat(arena.memoryMap().regions().getFirst().chunks().getFirst())
                        .isEqualTo(new Chunk(block, 1024, 1000, State.LIVE, 0));
                session.allocator().free(block);
                other.allocator().free(foreign);
            }
        }

        @Test
        void anEnvironmentListsEachInstanceOnceWithAllItsUsers() {
            try (Environment environment = open(Map.of());
                    Session first = environment.openSession(SessionOptions.builder()
                            .name("first")
                            .option(SessionOptions.USE_ENV_ALLOCATORS.name(), "1")
                            .build());
                    Session _ = limited(environment, "second")) {
                final Snapshot snapshot = environment.snapshot();

                assertThat(snapshot.scope()).isEqualTo("environment");
                assertThat(snapshot.sessions()).extracting(SessionState::name).containsExactly("second", "first");
                assertThat(snapshot.allocators())
                        .filteredOn(one -> one.users().size() == 2)
                        .singleElement()
                        .satisfies(shared -> assertThat(shared.users())
                                .extracting(User::owner)
                                .containsExactly("environment", "first"));
                assertThat(first.snapshot().allocators())
                        .hasSameSizeAs(first.report().allocators());
            }
        }

        @Test
        void anAllocatorThatDoesNotListItsChunksIsListedWithTheReason() {
            try (Environment environment = Environments.empty()) {
                environment.register(FakeFactory.cpu("fake"));
                assertThat(environment.snapshot().allocators()).isNotEmpty().allSatisfy(one -> {
                    assertThat(one.missing()).isEqualTo("the provider's allocator does not list its chunks");
                    assertThat(one.memoryMap().chunkCount()).isZero();
                });
            }
        }
    }

    @Nested
    class OnFailure {
        @Test
        void aRequestThatFailsLeavesASnapshot() throws IOException {
            final Path directory = folder.resolve("new").resolve("snapshots");
            try (Environment environment = open(Map.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, directory.toString()));
                    Session session = limited(environment, "bert")) {
                assertThat(environment.unusedSettings()).isEmpty();
                exhaust(session);
            }
            assertThat(files(directory)).singleElement().satisfies(file -> {
                assertThat(file.getFileName().toString()).matches("allocator-snapshot-[0-9-]+\\.json");
                assertThat(Files.readString(file))
                        .startsWith("{\"format\":\"java.allocator.snapshot\",\"version\":1,")
                        .contains("\"failure\":{\"reason\":\"Available memory of", "\"owner\":\"bert\"")
                        .contains("\"requested\":8388608", "\"limit\":1048576")
                        .endsWith("}\n");
            });
        }

        @Test
        void reservesAndRequestsOnStreamsLeaveOneToo() {
            try (Environment environment = open(Map.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString()));
                    Session session = limited(environment, "bert")) {
                final ManagedAllocator allocator = session.allocator();
                assertThatExceptionOfType(OutOfMemoryException.class)
                        .isThrownBy(() -> allocator.allocOnStream(2 * LIMIT, session.openStream()));
                assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> allocator.reserve(2 * LIMIT));
            }
            assertThat(files(folder)).hasSize(2);
        }

        @Test
        void aDirectoryGetsAtMostSixteen() {
            try (Environment environment = open(Map.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString()));
                    Session session = limited(environment, "bert")) {
                for (int i = 0; i < 20; i++) {
                    exhaust(session);
                }
            }
            assertThat(files(folder)).hasSize(16);
        }

        @Test
        void withoutTheOptionNothingIsWritten() {
            try (Environment environment = open(Map.of());
                    Session session = limited(environment, "bert")) {
                exhaust(session);
            }
            assertThat(files(folder)).isEmpty();
        }

        /** A file in the way, a device that is full, and a path that cannot be made. */
        @ParameterizedTest
        @ValueSource(strings = {"file", "/dev/full", "/proc/none/deeper"})
        void aDirectoryThatCannotBeWrittenMasksNothing(String name) throws IOException {
            final Path hostile = name.startsWith("/") ? Path.of(name) : Files.createFile(folder.resolve(name));
            try (Environment environment = open(Map.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, hostile.toString()));
                    Session session = limited(environment, "bert")) {
                exhaust(session);
                exhaust(session);
                session.allocator().free(session.allocator().alloc(1000));
            }
        }

        /** A channel would be closed, and leave half a file. */
        @Test
        void anInterruptOfTheThreadMattersNot() {
            try (Environment environment = open(Map.of(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString()));
                    Session session = limited(environment, "bert")) {
                Thread.currentThread().interrupt();
                exhaust(session);
                assertThat(Thread.interrupted()).isTrue();
            }
            assertThat(files(folder)).hasSize(1);
        }

        @ParameterizedTest
        @ValueSource(strings = {"", "  ", "a\0b"})
        void aValueThatIsNoPathIsRejected(String value) {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> Environment.builder().option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, value))
                    .withMessageContaining("memory.snapshot_on_failure")
                    .withMessageContaining("the path of a directory");
        }
    }

    @Nested
    class Sites {
        private Session recording(Environment environment, String interval) {
            return environment.openSession(SessionOptions.builder()
                    .name("bert")
                    .provider("cpu-reference")
                    .option(SessionOptions.CALL_SITES.name(), interval)
                    .option(MAX_MEM, Long.toString(4 * LIMIT))
                    .build());
        }

        private Map<Long, Snapshot.Site> sites(Session session) {
            return session.snapshot().allocators().getFirst().sites();
        }

        @Test
        void liveBlocksHaveThemAndFreedOnesDoNot() {
            try (Environment environment = open(Map.of());
                    Session session = recording(environment, "1")) {
                final ManagedAllocator allocator = session.allocator();
                final long first = allocator.alloc(1000);
                final long second = allocator.allocOnStream(1000, session.openStream());
                final long third = allocator.reserve(1000);
                assertThat(allocator.alloc(0)).isZero();

                assertThat(sites(session)).containsOnlyKeys(first, second, third);
                assertThat(sites(session).get(first).owner()).isEqualTo("bert");

                allocator.free(second);
                assertThatExceptionOfType(InvalidFreeException.class).isThrownBy(() -> allocator.free(first + 256));
                assertThat(sites(session)).containsOnlyKeys(first, third);
                allocator.free(first);
                allocator.free(third);
                assertThat(sites(session)).isEmpty();
            }
        }

        @Test
        void theAllocatorKeepsItsCapabilitiesAndFailures() {
            try (Environment environment = open(Map.of());
                    Session session = recording(environment, "1")) {
                final ManagedAllocator allocator = session.allocator();
                assertThat(allocator.isStreamAware()).isTrue();
                assertThat(allocator.isHostAccessible()).isTrue();
                assertThat(allocator.isArena()).isTrue();
                final long block = allocator.alloc(1000);
                assertThat(allocator.segment(block, 1000).byteSize()).isEqualTo(1000);
                exhaust(session);
                allocator.free(block);
                assertThat(allocator.shrink().regionsInUse()).isZero();
            }
        }

        @Test
        void oneInSoManyIsRecorded() {
            try (Environment environment = open(Map.of());
                    Session session = recording(environment, "10")) {
                final List<Long> blocks = new ArrayList<>();
                for (int i = 0; i < 1000; i++) {
                    blocks.add(session.allocator().alloc(256));
                }
                assertThat(sites(session)).hasSizeBetween(40, 200);
                blocks.forEach(session.allocator()::free);
            }
        }

        @Test
        void withoutTheOptionNothingIsRecorded() {
            try (Environment environment = open(Map.of());
                    Session session = limited(environment, "bert")) {
                session.allocator().free(session.allocator().alloc(1000));
                assertThat(sites(session)).isEmpty();
            }
        }
    }

    @Nested
    class Json {
        @Test
        void hostileNamesAreEscaped() throws IOException {
            final Snapshot snapshot = new Snapshot(
                    Instant.EPOCH,
                    "a\"\\\n\u202e</script>",
                    null,
                    null,
                    List.of(),
                    List.of(new SessionState("\ud83d\ude00", true, 0)),
                    List.of(),
                    List.of());
            final StringWriter text = new StringWriter();
            SnapshotJson.write(snapshot, text);
            assertThat(text.toString())
                    .isEqualTo("{\"format\":\"java.allocator.snapshot\",\"version\":1,"
                            + "\"taken_at\":\"1970-01-01T00:00:00Z\",\"scope\":\"a\\\"\\\\\\u000a\\u202e</script>\","
                            + "\"devices\":[],\"sessions\":[{\"name\":\"\\ud83d\\ude00\",\"closed\":true,"
                            + "\"live_blocks\":0}],\"allocators\":[]}\n");
        }
    }

    @Test
    void figuresThatAreNotKnownAreTold() {
        assertThat(Failure.UNKNOWN).isNegative().isNotEqualTo(AllocatorStats.UNLIMITED);
    }
}
