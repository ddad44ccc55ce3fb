package allocator.spi;

import static allocator.spi.OutOfMemoryException.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.spi.OutOfMemoryException.Shortage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The value types: what they check and what they derive. */
class ValuesTest {
    private static final HardwareDevice CARD = new HardwareDevice(DeviceType.GPU, 0x10de, 1, "Card", Map.of());
    private static final MemoryInfo DEVICE = info("Cuda", MemoryType.DEFAULT, AllocatorType.DEVICE);
    private static final MemoryInfo PINNED = info("CudaPinned", MemoryType.HOST_ACCESSIBLE, AllocatorType.DEVICE);
    private static final MemoryInfo READ_ONLY = info("CudaReadOnly", MemoryType.DEFAULT, AllocatorType.READ_ONLY);

    private static MemoryInfo info(String name, MemoryType memoryType, AllocatorType allocatorType) {
        return new MemoryInfo(name, new MemoryLocation(DeviceType.GPU, 0x10de, 0, memoryType), 256, allocatorType);
    }

    @Test
    void identityIsTheLocationAlone() {
        final MemoryInfo renamed = new MemoryInfo("Other", DEVICE.location(), 64, AllocatorType.READ_ONLY);
        assertThat(DEVICE.isSameMemoryAs(renamed)).isTrue();
        assertThat(DEVICE.isSameMemoryAs(PINNED)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, 3, 255, Long.MIN_VALUE, Long.MAX_VALUE})
    void alignmentIsAPowerOfTwo(long byteAlignment) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new MemoryInfo("Cuda", DEVICE.location(), byteAlignment, AllocatorType.DEVICE));
    }

    @Test
    void aForeignAddressIsNotSaidToBeOfAFree() {
        assertThat(new ForeignAddressException(0, "no bytes")).hasMessage("address 0x0: no bytes");
    }

    @Test
    void infosReadAsNameAndPlace() {
        assertThat(List.of(DEVICE, PINNED, READ_ONLY))
                .extracting(MemoryInfo::toString)
                .containsExactly(
                        "Cuda (gpu:0)", "CudaPinned (gpu:0 host-accessible)", "CudaReadOnly (gpu:0 read-only)");
    }

    @Test
    void infosFindTheirSlotsWhateverTheirOrder() {
        final EpDevice device = EpDevice.on(CARD)
                .memory(READ_ONLY)
                .memory(PINNED)
                .memory(DEVICE)
                .build();
        assertThat(device.defaultMemory()).contains(DEVICE);
        assertThat(device.hostAccessibleMemory()).contains(PINNED);
        assertThat(device.readOnlyMemory()).contains(READ_ONLY);
        assertThat(device.memoryInfos()).containsExactly(DEVICE, PINNED, READ_ONLY);
    }

    @Test
    void aSlotIsFilledOnce() {
        final EpDevice.Builder builder = EpDevice.on(CARD).memory(DEVICE);
        assertThatIllegalArgumentException().isThrownBy(() -> builder.memory(DEVICE));
        assertThat(builder.build().memoryInfos()).containsExactly(DEVICE);
    }

    @Test
    void theArenaTypeIsReserved() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EpDevice.on(CARD).memory(info("A", MemoryType.DEFAULT, AllocatorType.ARENA)))
                .withMessageContaining("reserved");
    }

    @Test
    void nothingFoundMustBeExplained() {
        assertThatIllegalArgumentException().isThrownBy(() -> new DeviceDiscovery(List.of(), List.of()));
        assertThat(DeviceDiscovery.none("no driver").notes()).containsExactly("no driver");
    }

    @Test
    void statisticsHaveEveryKeyOfTheOriginal() {
        final AllocatorStats stats = new AllocatorStats.Builder()
                .limit(1)
                .inUse(2, 3, 4)
                .held(5, 6)
                .free(8, 2)
                .calls(9, 10, 11, 12)
                .regions(13, 14)
                .build();
        assertThat(stats.toMap())
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("Limit", "1"),
                        Map.entry("InUse", "2"),
                        Map.entry("RequestedInUse", "3"),
                        Map.entry("MaxInUse", "4"),
                        Map.entry("TotalAllocated", "5"),
                        Map.entry("MaxTotalAllocated", "6"),
                        Map.entry("FreeBytes", "8"),
                        Map.entry("LargestFreeChunk", "2"),
                        Map.entry("NumAllocs", "9"),
                        Map.entry("NumReserves", "10"),
                        Map.entry("NumFailedAllocs", "11"),
                        Map.entry("MaxAllocSize", "12"),
                        Map.entry("NumArenaExtensions", "13"),
                        Map.entry("NumArenaShrinkages", "14")));
        assertThat(stats.fragmentation()).isEqualTo(0.75);
        assertThat(AllocatorStats.NONE.fragmentation()).isZero();
        assertThat(new AllocatorStats.Builder().free(8, 0).build().fragmentation())
                .as("largest free chunk unknown")
                .isNaN();
        assertThat(AllocatorStats.NONE.limit()).isEqualTo(AllocatorStats.UNLIMITED);
    }

    @Test
    void exhaustionReportsItsFigures() {
        final OutOfMemoryException e = new OutOfMemoryException(
                "No chunk", new Shortage(DEVICE, 100, 256, 4096, 3840, 4096, 0, UNKNOWN), "dump", null);
        assertThat(e)
                .hasMessage(
                        "No chunk [Cuda (gpu:0): cannot allocate 100 bytes, rounded to 256 bytes: limit 4.0 KiB (4,096"
                                + " bytes), in use with rounding 3.8 KiB (3,840 bytes), held 4.0 KiB (4,096 "
                                + "bytes), largest"
                                + " free chunk 0 bytes]");
        assertThat(e.dump()).isEqualTo("dump");
    }

    @Test
    void exhaustionOfABudgetReportsWhatIsChargedToIt() {
        assertThat(new OutOfMemoryException("No", Shortage.ofBudget(DEVICE, 100, "the budget of two", 4096, 3840)))
                .hasMessage("No [Cuda (gpu:0): cannot allocate 100 bytes: charged 3.8 KiB (3,840 bytes) of 4.0 KiB"
                        + " (4,096 bytes)]");
    }

    @Test
    void exhaustionLeavesOutWhatIsNotKnown() {
        assertThat(new OutOfMemoryException(
                        "No chunk", new Shortage(DEVICE, 100, UNKNOWN, 4096, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)))
                .hasMessage("No chunk [Cuda (gpu:0): cannot allocate 100 bytes: limit 4.0 KiB (4,096 bytes)]");
    }

    @Test
    void aLimitThatIsNotKnownIsNotNone() {
        assertThat(Shortage.ofDevice(DEVICE, 1, 2).limit())
                .isEqualTo(AllocatorStats.UNLIMITED)
                .isNotEqualTo(UNKNOWN);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0 bytes",
                "1023 | 1,023 bytes",
                "1024 | 1.0 KiB (1,024 bytes)",
                "1048524 | 1023.9 KiB (1,048,524 bytes)",
                "1048575 | 1.0 MiB (1,048,575 bytes)",
                "1520639 | 1.5 MiB (1,520,639 bytes)",
                "-100 | -100 bytes",
                "25165824 | 24.0 MiB (25,165,824 bytes)",
                "13416704 | 12.8 MiB (13,416,704 bytes)",
                "1125899906842624 | 1.0 PiB (1,125,899,906,842,624 bytes)",
                "9223372036854775807 | 8.0 EiB (9,223,372,036,854,775,807 bytes)",
            })
    void exhaustionReportsSizesInUnitsAndInBytes(long byteSize, String text) {
        assertThat(new OutOfMemoryException("No", Shortage.ofDevice(DEVICE, byteSize, UNKNOWN)))
                .hasMessage("No [Cuda (gpu:0): cannot allocate " + text + "]");
    }

    @Test
    void exhaustionSurvivesSerialization() throws Exception {
        final OutOfMemoryException e = new OutOfMemoryException("No chunk", Shortage.ofDevice(DEVICE, 1, 2), "d", null);
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(e);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            final OutOfMemoryException copy = (OutOfMemoryException) in.readObject();
            assertThat(copy.shortage()).isEqualTo(e.shortage());
            assertThat(copy.dump()).isEqualTo("d");
        }
    }

    @Test
    void rangesHaveBytesOnlyAtAnAddress() {
        assertThat(new MemoryRange(DEVICE, 0, 0).byteSize()).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> new MemoryRange(DEVICE, 0, 1));
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> new MemoryRange(DEVICE, 1, -1));
    }
}
