package allocator.arrow;

import static allocator.arrow.Opened.MIB;
import static allocator.arrow.Opened.inUse;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import allocator.testkit.FakeAllocator;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ForeignAllocation;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ArrowMemoryTest {
    private static final MemoryInfo HOST = new MemoryInfo(
            "Memory", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    @RegisterExtension
    private final Opened opened = new Opened();

    private final ArrowMemory memory = opened.memory(ArrowMemory.builder());
    private final BufferAllocator root = opened.root(memory);

    @Test
    void areBlocksOfTheSizeThatArrowAccountsFor() {
        try (ArrowBuf small = root.buffer(100);
                ArrowBuf large = root.buffer(17 * MIB + 1)) {
            small.setLong(0, 0x0123_4567_89AB_CDEFL);
            large.setByte(17 * MIB, 7);
            assertThat(small.getLong(0)).isEqualTo(0x0123_4567_89AB_CDEFL);
            assertThat(large.getByte(17 * MIB)).isEqualTo((byte) 7);
            assertThat(small.memoryAddress() % 64).isZero();
            assertThat(inUse(memory)).isEqualTo(128 + 17 * MIB + 1).isEqualTo(root.getAllocatedMemory());
        }
        assertThat(inUse(memory)).isZero();
    }

    @Test
    void ofNoBytesTakeNoMemory() {
        try (ArrowBuf empty = root.buffer(0)) {
            assertThat(empty.capacity()).isZero();
        }
        assertThat(memory.stats().numAllocs()).isZero();
    }

    @Test
    void liveAsLongAsASlice() {
        final ArrowBuf buffer = root.buffer(1024);
        final ArrowBuf slice = buffer.slice(512, 64);
        slice.getReferenceManager().retain();
        buffer.setByte(512, 9);
        buffer.close();
        assertThat(slice.getByte(0)).isEqualTo((byte) 9);
        assertThat(inUse(memory)).isEqualTo(1024);
        slice.close();
        assertThat(inUse(memory)).isZero();
    }

    @Test
    void areTransferredWithoutACopy() {
        final BufferAllocator from = opened.child(root, "from");
        final BufferAllocator to = opened.child(root, "to");
        final ArrowBuf buffer = from.buffer(4096);
        final ArrowBuf moved =
                buffer.getReferenceManager().transferOwnership(buffer, to).getTransferredBuffer();
        buffer.close();
        assertThat(moved.memoryAddress()).isEqualTo(buffer.memoryAddress());
        assertThat(from.getAllocatedMemory()).isZero();
        assertThat(to.getAllocatedMemory()).isEqualTo(4096);
        moved.close();
        assertThat(inUse(memory)).isZero();
    }

    @Test
    void ofForeignMemoryKeepIt() {
        final List<Long> released = new ArrayList<>();
        final ForeignAllocation foreign = new ForeignAllocation(4096, 0x1000) {
            @Override
            protected void release0() {
                released.add(memoryAddress());
            }
        };
        try (ArrowBuf buffer = root.wrapForeignAllocation(foreign)) {
            assertThat(buffer.memoryAddress()).isEqualTo(0x1000);
            assertThat(root.getAllocatedMemory()).isEqualTo(4096);
            assertThat(inUse(memory)).isZero();
        }
        assertThat(released).containsExactly(0x1000L);
    }

    @Test
    void thatArrowDoesNotTakeAreNotAllocated() {
        final BufferAllocator closed = new RootAllocator(
                RootAllocator.configBuilder().allocationManagerFactory(memory).build());
        closed.close();
        assertThatThrownBy(() -> memory.create(closed, 4096)).isInstanceOf(IllegalStateException.class);
        assertThat(memory.stats().numAllocs()).isZero();
        assertThat(inUse(memory)).isZero();
    }

    @Test
    void mustBeReleasedBeforeTheMemoryIsClosed() {
        final ArrowBuf buffer = root.buffer(64);
        assertThatThrownBy(memory::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("64 bytes of Arrow buffers are not released; close them first");
        buffer.setLong(0, 1);
        buffer.close();
        memory.close();
        assertThatThrownBy(() -> root.buffer(64)).isInstanceOf(AllocatorClosedException.class);
        assertThat(root.getAllocatedMemory()).isZero();
    }

    /** Such an allocator may serve others too, or count nothing. */
    @ParameterizedTest
    @ValueSource(ints = {SpiLevel.MINIMUM, SpiLevel.CURRENT})
    void ofAnAllocatorThatWasGivenAreCounted(int level) {
        final FakeAllocator given = new FakeAllocator(HOST).spiLevel(level);
        final long other = given.alloc(5);
        final ArrowMemory ofGiven = opened.memory(ArrowMemory.builder().allocator(given));
        final BufferAllocator users = Opened.newRoot(ofGiven);
        final ArrowBuf buffer = users.buffer(64);
        assertThatThrownBy(ofGiven::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("64 bytes of Arrow buffers are not released");
        buffer.close();
        ofGiven.close();
        assertThatThrownBy(() -> users.buffer(64)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(ofGiven::stats).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(ofGiven::shrink).isInstanceOf(AllocatorClosedException.class);
        assertThat(given.live()).containsOnlyKeys(other);
        users.close();
    }
}
