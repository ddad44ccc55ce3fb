package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assumptions.assumeThat;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidOptionException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CpuReferenceFactoryTest {
    private final EpFactory factory = new CpuReferenceFactory();
    private final EpDevice device = factory.discoverDevices().devices().getFirst();
    private final MemoryInfo defaultMemory = device.defaultMemory().orElseThrow();
    private final MemoryInfo readOnlyMemory = device.readOnlyMemory().orElseThrow();

    private Allocator create(MemoryInfo info, String... keysAndValues) {
        AllocatorOptions options = AllocatorOptions.EMPTY;
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options = options.with(keysAndValues[i], keysAndValues[i + 1], AllocatorOptions.EXPLICIT);
        }
        return factory.createAllocator(info, options);
    }

    /** The C library would keep the second and third block of such a size for itself. */
    @Test
    void whatIsFreedIsTheSystemsAgain() throws IOException {
        final Path statm = Path.of("/proc/self/statm");
        assumeThat(statm).isReadable();
        final long byteSize = 24 << 20;
        final HostAllocator blocks = (HostAllocator) create(readOnlyMemory);
        for (int i = 0; i < 4; i++) {
            final long block = blocks.alloc(byteSize);
            blocks.segment(block, byteSize).fill((byte) 1);
            final long touched = Long.parseLong(Files.readString(statm).split(" ", -1)[1]) * 4096;
            blocks.free(block);
            final long after = Long.parseLong(Files.readString(statm).split(" ", -1)[1]) * 4096;
            assertThat(touched - after)
                    .as("bytes that went back in round %d", i)
                    .isGreaterThan(byteSize * 19 / 20);
        }
        factory.releaseAllocator(blocks);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 255, 256, 131_071, 131_072, 131_073, 1_000_001})
    void blocksOfEverySizeAreUsableToTheLastByte(long byteSize) {
        final HostAllocator blocks = (HostAllocator) create(readOnlyMemory);
        final long block = blocks.alloc(byteSize);
        assertThat(block % readOnlyMemory.byteAlignment()).isZero();
        final MemorySegment bytes = blocks.segment(block, byteSize);
        bytes.fill((byte) 5);
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, byteSize - 1)).isEqualTo((byte) 5);
        blocks.free(block);
        assertThat(blocks.stats().bytesInUse()).isZero();
        factory.releaseAllocator(blocks);
    }

    @Nested
    class References {
        @Test
        void usersShareOneArenaUntilTheLastReleasesIt() {
            final Allocator first = create(defaultMemory);
            final Allocator second = create(defaultMemory);
            assertThat(second).isSameAs(first);
            factory.releaseAllocator(first);
            assertThatNoException().isThrownBy(() -> second.free(second.alloc(1)));
            factory.releaseAllocator(second);
            assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> second.alloc(1));
            final Allocator third = create(defaultMemory);
            assertThat(third).isNotSameAs(first);
            factory.releaseAllocator(third);
        }

        @Test
        void anExclusiveArenaIsNobodyElses() {
            final Allocator shared = create(defaultMemory);
            final Allocator own = create(defaultMemory, OptionKey.EXCLUSIVE.name(), "1", "arena.max_mem", "4096");
            assertThat(own).isNotSameAs(shared);
            assertThat(own.effectiveOptions().value("arena.max_mem")).isEqualTo("4096");
            assertThat(shared.effectiveOptions().value("arena.max_mem")).isEqualTo("0");
            assertThat(create(defaultMemory)).isSameAs(shared);
            factory.releaseAllocator(own);
            factory.releaseAllocator(shared);
            factory.releaseAllocator(shared);
        }

        @Test
        void aSharedArenaKeepsItsSettingsAndTellsThem() {
            final Allocator first = create(defaultMemory, "arena.initial_chunk_size_bytes", "4096");
            final Allocator second = create(defaultMemory, "arena.initial_chunk_size_bytes", "8192");
            assertThat(second.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                    .isEqualTo("4096");
            factory.releaseAllocator(first);
            factory.releaseAllocator(second);
        }

        @Test
        void readOnlyMemoryIsNeverShared() {
            final Allocator first = create(readOnlyMemory);
            final Allocator second = create(readOnlyMemory);
            assertThat(second).isNotSameAs(first).isNotInstanceOf(ShrinkableAllocator.class);
            factory.releaseAllocator(first);
            assertThatNoException().isThrownBy(() -> second.free(second.alloc(1)));
            factory.releaseAllocator(second);
        }

        @Test
        void oneReleaseTooManyIsRefusedAndChangesNothing() {
            final Allocator allocator = create(defaultMemory);
            factory.releaseAllocator(allocator);
            assertThatExceptionOfType(UnknownAllocatorException.class)
                    .isThrownBy(() -> factory.releaseAllocator(allocator));
            final Allocator other = create(defaultMemory);
            assertThatExceptionOfType(UnknownAllocatorException.class)
                    .isThrownBy(() -> factory.releaseAllocator(allocator));
            assertThatNoException().isThrownBy(() -> other.free(other.alloc(1)));
            factory.releaseAllocator(other);
        }

        @Test
        void anotherFactorysAllocatorIsUnknown() {
            final EpFactory another = new CpuReferenceFactory();
            final Allocator theirs = another.createAllocator(defaultMemory, AllocatorOptions.EMPTY);
            assertThatExceptionOfType(UnknownAllocatorException.class)
                    .isThrownBy(() -> factory.releaseAllocator(theirs));
            another.releaseAllocator(theirs);
        }
    }

    @Nested
    class Refusals {
        @Test
        void memoryOfOthersIsNotServed() {
            final MemoryInfo foreign = new MemoryInfo("Other", defaultMemory.location(), 64, AllocatorType.DEVICE);
            assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(() -> create(foreign));
        }

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "arena.initial_chunk_size_bytes",
                    "arena.max_dead_bytes_per_chunk",
                    "arena.initial_growth_chunk_size_bytes",
                    "arena.max_power_of_two_extend_bytes"
                })
        void sizesOutOfRangeCreateNothing(String key) {
            for (String value : new String[] {"-1", "0", "", "text", "9223372036854775807"}) {
                assertThatExceptionOfType(InvalidOptionException.class)
                        .isThrownBy(() -> create(defaultMemory, key, value))
                        .withMessageContaining(key + "='" + value + "' (from explicit call)");
            }
            assertThatNoException().isThrownBy(factory::close);
        }

        @ParameterizedTest
        @ValueSource(
                strings = {
                    "arena.initial_chunk_size_bytes",
                    "arena.max_dead_bytes_per_chunk",
                    "arena.initial_growth_chunk_size_bytes",
                    "arena.max_power_of_two_extend_bytes",
                    "arena.max_mem"
                })
        void everyAcceptedSizeWorks(String key) {
            for (String value :
                    new String[] {"1", "255", "256", "257", "1000000", "2147483648", "9223372036854775552"}) {
                final Allocator allocator = create(defaultMemory, OptionKey.EXCLUSIVE.name(), "1", key, value);
                final boolean granted = !key.equals("arena.max_mem") || Long.parseLong(value) >= 256;
                for (int round = 0; round < 3; round++) {
                    if (granted) {
                        allocator.free(allocator.alloc(1));
                        ((ShrinkableAllocator) allocator).shrink();
                    } else {
                        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> allocator.alloc(1));
                    }
                }
                assertThat(allocator.stats().bytesInUse()).isZero();
                factory.releaseAllocator(allocator);
            }
        }

        @Test
        void aMistypedKeyIsAnsweredWithTheRightOne() {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> create(defaultMemory, "arena.max_memory", "1"))
                    .withMessageContaining("did you mean arena.max_mem?");
        }
    }

    @Nested
    class RawMemory {
        private final HostAccessibleAllocator raw = (HostAccessibleAllocator) create(readOnlyMemory);

        @AfterEach
        void release() {
            factory.releaseAllocator(raw);
        }

        @Test
        void blocksAreAlignedUsableAndCounted() {
            final long address = raw.alloc(1000);
            assertThat(address % defaultMemory.byteAlignment()).isZero();
            final MemorySegment segment = raw.segment(address, 1000);
            segment.fill((byte) 0x5a);
            assertThat(segment.get(ValueLayout.JAVA_BYTE, 999)).isEqualTo((byte) 0x5a);
            assertThat(raw.stats().bytesInUse()).isEqualTo(1000);
            raw.free(address);
            assertThat(raw.stats().bytesInUse()).isZero();
            assertThat(raw.stats().peakBytesHeld()).isEqualTo(1000);
        }

        @Test
        void emptyAllocationsCountNowhere() {
            assertThat(raw.alloc(0)).isZero();
            assertThat(raw.reserve(0)).isZero();
            raw.free(0);
            assertThat(raw.segment(0, 0).byteSize()).isZero();
            assertThat(raw.stats().numAllocs()).isZero();
        }

        @Test
        void badFreesAreToldApart() {
            final long address = raw.alloc(100);
            assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> raw.free(address + 1));
            assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> raw.free(1));
            raw.free(address);
            assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> raw.free(address));
            assertThat(raw.stats().bytesInUse()).isZero();
        }

        @ParameterizedTest
        @ValueSource(longs = {-1, Long.MIN_VALUE, Long.MAX_VALUE})
        void impossibleSizesAreRefused(long byteSize) {
            assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> raw.alloc(byteSize));
        }

        @Test
        void exhaustionIsTypedAndCounted() {
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> raw.alloc(Long.MAX_VALUE - 255));
            assertThat(raw.stats().numFailedAllocs()).isEqualTo(1);
            raw.free(raw.reserve(1));
            assertThat(raw.stats().numReserves()).isEqualTo(1);
        }
    }

    @Nested
    class Streams {
        private final StreamAwareAllocator arena = (StreamAwareAllocator)
                create(defaultMemory, OptionKey.EXCLUSIVE.name(), "1", "arena.initial_chunk_size_bytes", "65536");
        private final SyncStream first = factory.createSyncStream(defaultMemory);
        private final SyncStream second = factory.createSyncStream(defaultMemory);

        @AfterEach
        void release() {
            first.close();
            second.close();
            factory.releaseAllocator(arena);
            factory.close();
        }

        @Test
        void memoryStaysWithItsStreamUntilTheRunEnds() {
            final long tied = arena.allocOnStream(65536, first);
            arena.free(tied);
            final long elsewhere = arena.allocOnStream(65536, second);
            assertThat(elsewhere).isNotEqualTo(tied);
            arena.free(elsewhere);
            first.onSessionRunEnd();
            second.onSessionRunEnd();
            assertThat(arena.stats().bytesHeld()).isEqualTo(65536 * 3);
            final long untied = arena.alloc(65536);
            assertThat(untied).isEqualTo(tied);
            arena.free(untied);
        }

        @Test
        void whatIsClosedHasEnded() {
            final SyncStream third = factory.createSyncStream(defaultMemory);
            assertThat(first.lastWaitedSyncId(third)).isZero();
            third.close();
            assertThat(first.lastWaitedSyncId(third)).isEqualTo(Long.MAX_VALUE);
        }

        @Test
        void memoryPassesToAStreamThatWaited() {
            final long tied = arena.allocOnStream(65536, first);
            arena.free(tied);
            try (SyncNotification notification = first.createNotification()) {
                notification.activate();
                notification.waitOnDevice(second);
                notification.waitOnHost();
            }
            final long passedOn = arena.allocOnStream(65536, second);
            assertThat(passedOn).isEqualTo(tied);
            arena.free(passedOn);
        }

        @Test
        void closingAStreamLosesNothing() {
            final SyncStream passing = factory.createSyncStream(defaultMemory);
            final long tied = arena.allocOnStream(65536, passing);
            arena.free(tied);
            passing.close();
            passing.close();
            final long again = arena.allocOnStream(65536, first);
            assertThat(again).isEqualTo(tied);
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
    }

    @Test
    void copiesAreMadeAtOnce() {
        final DataTransfer transfer = factory.dataTransfer().orElseThrow();
        final HostAccessibleAllocator arena = (HostAccessibleAllocator) create(defaultMemory);
        final HostAccessibleAllocator raw = (HostAccessibleAllocator) create(readOnlyMemory);
        final long source = arena.alloc(8);
        final long target = raw.alloc(8);
        arena.segment(source, 8).set(ValueLayout.JAVA_LONG, 0, 0x0123456789abcdefL);
        transfer.copy(new MemoryRange(defaultMemory, source, 8), new MemoryRange(readOnlyMemory, target, 8), null);
        assertThat(raw.segment(target, 8).get(ValueLayout.JAVA_LONG, 0)).isEqualTo(0x0123456789abcdefL);
        assertThatExceptionOfType(InvalidSizeException.class)
                .isThrownBy(() -> transfer.copy(
                        new MemoryRange(defaultMemory, source, 8), new MemoryRange(readOnlyMemory, target, 4), null));
        arena.free(source);
        raw.free(target);
        factory.releaseAllocator(arena);
        factory.releaseAllocator(raw);
    }

    @Test
    void aClosedFactoryCreatesNothing() {
        factory.close();
        factory.close();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> create(defaultMemory));
        assertThatExceptionOfType(AllocatorClosedException.class)
                .isThrownBy(() -> factory.createSyncStream(defaultMemory));
    }

    @Test
    void descriptionsAreForAPerson() {
        assertThat(Map.of("vendor", factory.vendor(), "version", factory.version())
                        .values())
                .noneMatch(String::isBlank);
        assertThat(factory.optionKeys()).extracting(OptionKey::name).contains("arena.max_mem", "arena.exclusive");
    }
}
