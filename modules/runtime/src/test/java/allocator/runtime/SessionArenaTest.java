package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.spi.AllocatorClosedException;
import allocator.spi.InvalidOptionException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeFactory;
import allocator.testkit.OwnJvm;
import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SessionArenaTest {
    private static final long LIMIT = 4 << 20;

    private final Environment environment = Environment.create();
    private final Session session = environment.openSession("cpu-reference", Map.of("arena.max_mem", "4m"));

    @AfterEach
    void close() {
        session.close();
        environment.close();
    }

    @Test
    void aSegmentIsABlockOfTheSessionUntilTheArenaIsClosed() {
        final MemorySegment segment;
        try (Arena arena = session.newArena()) {
            segment = arena.allocate(1000);
            segment.set(ValueLayout.JAVA_BYTE, 999, (byte) 7);
            assertThat(segment.byteSize()).isEqualTo(1000);
            assertThat(session.liveBlocks()).isOne();
            assertThat(session.allocator().stats().requestedBytesInUse()).isEqualTo(1000);
            assertThat(arena.scope()).isEqualTo(segment.scope());
        }
        assertThat(session.liveBlocks()).isZero();
        assertThatIllegalStateException().isThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0));
    }

    @Test
    void aSegmentInMemoryThatWasUsedBeforeHasZeros() {
        try (Arena arena = session.newArena()) {
            arena.allocate(4096).fill((byte) 1);
        }
        try (Arena arena = session.newArena()) {
            assertThat(arena.allocate(4096).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        }
    }

    @Test
    void aRequestAboveTheLimitIsRejectedAndTheArenaIsUsedFurther() {
        try (Arena arena = session.newArena()) {
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> arena.allocate(LIMIT + 1))
                    .satisfies(e -> assertThat(e.shortage().limit()).isEqualTo(LIMIT));
            assertThat(arena.allocate(8).byteSize()).isEqualTo(8);
        }
    }

    @Test
    void segmentsAreAlignedAsRequestedAndDoNotOverlap() {
        try (Arena arena = session.newArena()) {
            final MemorySegment first = arena.allocate(100, 4096);
            final MemorySegment second = arena.allocate(100, 8192);
            assertThat(first.address() % 4096).isZero();
            assertThat(second.address() % 8192).isZero();
            assertThat(first.asOverlappingSlice(second)).isEmpty();
            assertThat(first.maxByteAlignment()).isGreaterThanOrEqualTo(4096);
        }
    }

    @Test
    void aSegmentWithoutBytesTakesNoBlock() {
        try (Arena arena = session.newArena()) {
            assertThat(arena.allocate(0).byteSize()).isZero();
            assertThat(session.liveBlocks()).isZero();
        }
    }

    @Test
    void sizesAndAlignmentsAreCheckedAsTheJdkDoes() {
        try (Arena arena = session.newArena()) {
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(-1, 1));
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(1, 3));
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(1, 0));
        }
    }

    @Test
    void anArenaThatIsClosedAllocatesNothing() {
        final Arena arena = session.newArena();
        arena.close();
        assertThatIllegalStateException().isThrownBy(() -> arena.allocate(8));
        assertThatIllegalStateException().isThrownBy(arena::close);
        assertThat(session.liveBlocks()).isZero();
    }

    @Test
    void aConfinedArenaServesItsThreadOnlyAndASharedOneAll() throws Exception {
        final Throwable[] thrown = new Throwable[2];
        try (Arena confined = session.newArena();
                Arena shared = session.newSharedArena()) {
            final Thread other = Thread.ofPlatform().start(() -> {
                thrown[0] = failure(confined);
                thrown[1] = failure(shared);
            });
            other.join();
            assertThat(session.liveBlocks()).isOne();
        }
        assertThat(thrown[0]).isInstanceOf(WrongThreadException.class);
        assertThat(thrown[1]).isNull();
    }

    private static Throwable failure(Arena arena) {
        try {
            arena.allocate(8);
            return null;
        } catch (WrongThreadException e) {
            return e;
        }
    }

    @Test
    void anArenaThatOutlivesItsSessionKeepsItsSegments() {
        final Arena arena = session.newArena();
        final MemorySegment segment = arena.allocate(8);
        session.close();
        segment.set(ValueLayout.JAVA_LONG, 0, 5);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.allocate(8));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(session::newArena);
        assertThat(segment.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(5);
        arena.close();
    }

    @Test
    void aSessionWithoutHostMemoryHasNoArena() {
        environment.register(FakeFactory.gpu("fake"));
        try (Session device = environment.openSession("fake", Map.of())) {
            assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(device::newArena);
        }
    }

    @Test
    void anOptionThatTheProviderDoesNotKnowIsRejected() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> environment.openSession("cpu-reference", Map.of("arena.max_mme", "4m")))
                .withMessageContaining("ep.cpu-reference.arena.max_mem");
    }

    @Test
    void whereTheJavaHeapEndsTheCloseFreesNoBlockOfAnotherUser() throws Exception {
        OwnJvm.run(
                OwnJvm.path(List.of(SessionArenaHeapEnd.class))
                        + File.pathSeparator
                        + System.getProperty("jdk.module.path"),
                SessionArenaHeapEnd.class,
                List.of("-Xmx20m", "-XX:-UseTLAB", "--enable-native-access=ALL-UNNAMED"));
    }
}
