package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.provider.support.platform.Platform;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CpuStreamTest {
    private final EpFactory factory = new CpuReferenceFactory();
    private final EpDevice device = factory.discoverDevices().devices().getFirst();
    private final MemoryInfo memory = device.defaultMemory().orElseThrow();
    private final MemoryInfo readOnlyMemory = device.readOnlyMemory().orElseThrow();

    /** Exclusive: ended runs and closed streams reach such arenas as well. */
    private final StreamAwareAllocator arena = (StreamAwareAllocator) factory.createAllocator(
            memory,
            AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", "65536", OptionKey.EXCLUSIVE.name(), "1")));

    private EpFactory factoryOf = factory;
    private final SyncStream first = factory.createSyncStream(memory);
    private final SyncStream second = factory.createSyncStream(memory);

    @AfterEach
    void release() {
        first.close();
        second.close();
        factory.releaseAllocator(arena);
        factory.close();
    }

    @Test
    void memoryStaysWithItsStreamUntilTheRunEnds() {
        final long freed = arena.allocOnStream(65536, first);
        arena.free(freed);
        final long elsewhere = arena.allocOnStream(65536, second);
        assertThat(elsewhere).isNotEqualTo(freed);
        arena.free(elsewhere);
        first.onSessionRunEnd();
        second.onSessionRunEnd();
        assertThat(arena.stats().bytesHeld()).isEqualTo(65536 * 3);
        final long again = arena.alloc(65536);
        assertThat(again).isEqualTo(freed);
        arena.free(again);
    }

    @Test
    void aClosedStreamHasEnded() {
        final SyncStream third = factory.createSyncStream(memory);
        assertThat(first.lastWaitedSyncId(third)).isZero();
        third.close();
        assertThat(first.lastWaitedSyncId(third)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void memoryPassesToAStreamThatWaited() {
        final long freed = arena.allocOnStream(65536, first);
        arena.free(freed);
        try (SyncNotification notification = first.createNotification()) {
            notification.activate();
            notification.waitOnDevice(second);
            notification.waitOnHost();
        }
        final long passedOn = arena.allocOnStream(65536, second);
        assertThat(passedOn).isEqualTo(freed);
        arena.free(passedOn);
    }

    @Test
    void closingAStreamLosesNothing() {
        final SyncStream passing = factory.createSyncStream(memory);
        final long freed = arena.allocOnStream(65536, passing);
        arena.free(freed);
        passing.close();
        passing.close();
        final long again = arena.allocOnStream(65536, first);
        assertThat(again).isEqualTo(freed);
        arena.free(again);
        assertThatIllegalStateException().isThrownBy(passing::flush);
    }

    @Test
    void theFactoryClosesAfterItsStreamsOnly() {
        assertThatIllegalStateException().isThrownBy(factory::close).withMessageContaining("2 streams");
    }

    @Test
    void readOnlyMemoryHasNoStreams() {
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> factory.createSyncStream(readOnlyMemory));
    }

    /**
     * A run ends while another thread releases arenas: the bump arenas give memory back then, and at the first call of
     * the system all others are released.
     */
    @Test
    void aRunEndsWhileOtherSessionsClose() {
        final List<Allocator> others = new ArrayList<>();
        final List<Allocator> bumps = new ArrayList<>();
        final EpFactory shared = new CpuReferenceFactory(
                new Heap() {
                    @Override
                    public long allocate(long byteAlignment, long byteSize) {
                        return NATIVE.allocate(byteAlignment, byteSize);
                    }

                    @Override
                    public void free(long address, long byteSize) {
                        NATIVE.free(address, byteSize);
                        final List<Allocator> all = List.copyOf(others);
                        others.clear();
                        all.forEach(factoryOf::releaseAllocator);
                    }
                },
                Platform.current());
        factoryOf = shared;
        final SyncStream stream = shared.createSyncStream(memory);
        for (int i = 0; i < 16; i++) {
            others.add(shared.createAllocator(memory, AllocatorOptions.of(Map.of(OptionKey.EXCLUSIVE.name(), "1"))));
            final StreamAwareAllocator bump = (StreamAwareAllocator) shared.createAllocator(
                    memory,
                    AllocatorOptions.of(Map.of(
                            OptionKey.EXCLUSIVE.name(),
                            "1",
                            "arena.kind",
                            "bump",
                            "arena.initial_chunk_size_bytes",
                            "4096",
                            "arena.bump_max_mem",
                            "4096")));
            bump.free(bump.allocOnStream(65536, stream));
            bumps.add(bump);
        }
        stream.onSessionRunEnd();
        assertThat(others).isEmpty();
        stream.close();
        bumps.forEach(shared::releaseAllocator);
        shared.close();
    }
}
