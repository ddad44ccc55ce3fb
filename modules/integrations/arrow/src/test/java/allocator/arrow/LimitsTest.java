package allocator.arrow;

import static allocator.arrow.Opened.MIB;
import static allocator.arrow.Opened.inUse;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import allocator.provider.support.budget.Budget;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class LimitsTest {
    @RegisterExtension
    private final Opened opened = new Opened();

    private static MemoryInfo host(DeviceType device, int byteAlignment) {
        return new MemoryInfo(
                "Memory", new MemoryLocation(device, 0, 0, MemoryType.DEFAULT), byteAlignment, AllocatorType.DEVICE);
    }

    @Test
    void ofTheArenaHoldToTheByte() {
        final ArrowMemory memory =
                opened.memory(ArrowMemory.builder().option("arena.max_mem", String.valueOf(8 * MIB)));
        final BufferAllocator root = opened.root(memory);
        final List<ArrowBuf> buffers = new ArrayList<>();
        final OutOfMemoryException failure = catchThrowableOfType(OutOfMemoryException.class, () -> {
            while (true) {
                buffers.add(root.buffer(MIB));
            }
        });
        assertThat(failure)
                .hasMessageContaining("Unable to allocate buffer of size 1048576: ")
                .cause()
                .isInstanceOfSatisfying(allocator.spi.OutOfMemoryException.class, cause -> {
                    assertThat(cause.shortage().limit()).isEqualTo(8 * MIB);
                    assertThat(cause.shortage().requested()).isEqualTo(MIB);
                });
        assertThat(memory.stats().peakBytesHeld()).isLessThanOrEqualTo(8 * MIB);
        assertThat(root.getAllocatedMemory()).isEqualTo(buffers.size() * MIB).isEqualTo(inUse(memory));
        buffers.removeLast().close();
        buffers.add(root.buffer(MIB));
        buffers.forEach(ArrowBuf::close);
        assertThat(inUse(memory)).isZero();
    }

    @Test
    void ofABudgetHoldToTheByte() {
        final Budget budget = Budget.of("arrow", 17 * MIB + 64);
        final ArrowMemory memory = opened.memory(ArrowMemory.builder().budget(budget));
        final BufferAllocator root = opened.root(memory);
        try (ArrowBuf large = root.buffer(17 * MIB);
                ArrowBuf last = root.buffer(64)) {
            assertThat(large.capacity() + last.capacity()).isEqualTo(17 * MIB + 64);
            assertThatThrownBy(() -> root.buffer(1))
                    .isInstanceOf(OutOfMemoryException.class)
                    .hasCauseInstanceOf(allocator.spi.OutOfMemoryException.class);
            assertThat(budget.status().charge()).isEqualTo(17 * MIB + 64);
        }
        assertThat(budget.status().charge()).isZero();
        assertThat(budget.status().peakCharge()).isEqualTo(17 * MIB + 64);
    }

    @Test
    void thatFailNameWhatEachChildHolds() {
        final Budget budget = Budget.of("server", 1024);
        final ArrowMemory memory = opened.memory(ArrowMemory.builder().childBudgets(budget));
        final BufferAllocator root = opened.root(memory);
        final BufferAllocator scan = opened.child(root, "scan");
        final BufferAllocator join = opened.child(scan, "join");
        try (ArrowBuf ofScan = scan.buffer(256);
                ArrowBuf ofJoin = join.buffer(512)) {
            assertThat(ofScan.capacity() + ofJoin.capacity()).isEqualTo(768);
            final OutOfMemoryException failure =
                    catchThrowableOfType(OutOfMemoryException.class, () -> root.buffer(512));
            assertThat(((allocator.spi.OutOfMemoryException) failure.getCause()).dump())
                    .contains("request of 512 bytes to server/ROOT")
                    .contains("server: 768 of 1024 bytes charged")
                    .contains("ROOT/scan: 256", "ROOT/scan/join: 512");
            assertThat(failure)
                    .hasMessageContaining(": charged 768 bytes of 1.0 KiB (1,024 bytes)]")
                    .hasMessageEndingWith("; held, the most first: ROOT/scan/join 512 bytes, ROOT/scan 256 bytes");
            final OutOfMemoryException below =
                    catchThrowableOfType(OutOfMemoryException.class, () -> join.buffer(1024));
            assertThat(((allocator.spi.OutOfMemoryException) below.getCause()).dump())
                    .contains("request of 1024 bytes to server/ROOT/scan/join")
                    .contains("join: 512 of unlimited bytes charged");
        }
        assertThat(budget.status().charge()).isZero();
    }

    @Test
    void ofChildrenAllowTransfers() {
        final Budget budget = Budget.of("server", 4096);
        final ArrowMemory memory = opened.memory(ArrowMemory.builder().childBudgets(budget));
        final BufferAllocator root = opened.root(memory);
        final BufferAllocator producer = opened.child(root, "producer", 1024);
        final BufferAllocator consumer = opened.child(root, "consumer");
        final List<ArrowBuf> consumed = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            try (ArrowBuf buffer = producer.buffer(1024)) {
                consumed.add(buffer.getReferenceManager()
                        .transferOwnership(buffer, consumer)
                        .getTransferredBuffer());
            }
        }
        assertThat(budget.status().charge()).isEqualTo(4096);
        consumed.forEach(ArrowBuf::close);
        assertThat(budget.status().charge()).isZero();
    }

    /** Free memory in pieces too small is returned, and the request tried again. */
    @Test
    void areUsedUpBeforeARequestFails() {
        final ArrowMemory memory =
                opened.memory(ArrowMemory.builder().option("arena.max_mem", String.valueOf(16 * MIB)));
        final BufferAllocator root = opened.root(memory);
        root.buffer(100).close();
        try (ArrowBuf large = root.buffer(8 * MIB + 1)) {
            assertThat(large.capacity()).isEqualTo(16 * MIB);
        }
    }

    @Test
    void areReleasedWhenADeviceFailsToTakeMemoryBack() {
        final Budget budget = Budget.of("arrow", MIB);
        final FakeAllocator failing = new FakeAllocator(host(DeviceType.CPU, 256)) {
            @Override
            public void free(long address) {
                super.free(address);
                throw new DeviceException("the device has failed", null);
            }
        };
        final ArrowMemory memory =
                opened.memory(ArrowMemory.builder().allocator(failing).budget(budget));
        final BufferAllocator root = new RootAllocator(
                RootAllocator.configBuilder().allocationManagerFactory(memory).build());
        final ArrowBuf buffer = root.buffer(64);
        assertThatThrownBy(buffer::close).isInstanceOf(DeviceException.class);
        assertThat(budget.status().charge()).isZero();
        assertThat(root.getAllocatedMemory()).isZero();
    }
}
