package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.List;
import java.util.Map;
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
        void anExclusiveArenaIsNotShared() {
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
        void aSharedArenaKeepsItsSettingsAndReportsThem() {
            final Allocator first = create(defaultMemory, "arena.initial_chunk_size_bytes", "4096");
            final Allocator second = create(defaultMemory, "arena.initial_chunk_size_bytes", "8192");
            assertThat(second.effectiveOptions().value("arena.initial_chunk_size_bytes"))
                    .isEqualTo("4096");
            factory.releaseAllocator(first);
            factory.releaseAllocator(second);
        }

        @Test
        void aReleasedAllocatorGivesNoSegment() {
            for (final Allocator released : List.of(
                    create(readOnlyMemory),
                    create(defaultMemory, "arena.kind", "bfc"),
                    create(defaultMemory, "arena.kind", "bump", OptionKey.EXCLUSIVE.name(), "1"))) {
                factory.releaseAllocator(released);
                assertThatExceptionOfType(AllocatorClosedException.class)
                        .isThrownBy(() -> ((HostAccessibleAllocator) released).segment(64, 1));
            }
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
        void oneReleaseTooManyIsRejectedAndChangesNothing() {
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
    class Rejections {
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
            for (String value : new String[] {"-1", "0", "", "text", "18446744073709551616"}) {
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
        void theErrorForAMistypedKeyNamesTheRightOne() {
            assertThatExceptionOfType(InvalidOptionException.class)
                    .isThrownBy(() -> create(defaultMemory, "arena.max_memory", "1"))
                    .withMessageContaining("did you mean arena.max_mem?");
        }
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

    @Test
    void theVersionIsThatOfTheModule() {
        final Module module = CpuReferenceFactory.class.getModule();
        assumeTrue(module.isNamed(), "on the class path");
        assertThat(module.getDescriptor().rawVersion()).hasValue(factory.version());
    }

    @Test
    void aSettingWithoutEffectIsNotReportedAsEffective() {
        final Allocator arena = create(defaultMemory, "arena.bump_max_mem", "4096", "arena.slack_percent", "5");
        assertThat(arena.effectiveOptions().keys())
                .contains("arena.kind", "arena.initial_chunk_size_bytes")
                .doesNotContain("arena.bump_max_mem", "arena.slack_percent");
        factory.releaseAllocator(arena);
    }
}
