package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.base.NativeMemory;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of every resource over host memory, for stacks of any depth. */
abstract class ResourceContract {
    private HostResource host;
    private MemoryResource resource;

    /** The stack under test. */
    abstract MemoryResource over(HostResource bottom);

    @BeforeEach
    void make() {
        host = new HostResource();
        resource = over(host);
    }

    @AfterEach
    void close() {
        resource.close();
        host.close();
    }

    private record Block(long address, long byteSize) {}

    @ParameterizedTest
    @ValueSource(longs = {1, 4, 63, 64, 65, 1 << 10, 1 << 20, (16 << 20) + 1})
    void everyByteOfABlockIsUsable(long byteSize) {
        long address = resource.allocate(byteSize);
        var bytes = NativeMemory.segment(address, byteSize);
        bytes.fill((byte) 0x5A);
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, byteSize - 1)).isEqualTo((byte) 0x5A);
        resource.deallocate(address, byteSize);
    }

    @Test
    void zeroBytesAreTheEmptyAllocation() {
        assertThat(resource.allocate(0)).isZero();
        resource.deallocate(0, 0);
    }

    @Test
    void invalidSizesAreRejected() {
        assertThatThrownBy(() -> resource.allocate(-1)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> resource.allocate(Long.MIN_VALUE)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> resource.allocate(Long.MAX_VALUE)).isInstanceOf(InvalidSizeException.class);
    }

    @Test
    void anExabyteIsOutOfMemoryAndTheResourceStaysUsable() {
        assertThatThrownBy(() -> resource.allocate(1L << 60)).isInstanceOf(OutOfMemoryException.class);
        resource.deallocate(resource.allocate(100), 100);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 16, 64})
    void alignmentIsHonoured(long byteAlignment) {
        long address = resource.allocate(3, byteAlignment);
        assertThat(address % byteAlignment).isZero();
        resource.deallocate(address, 3, byteAlignment);
    }

    @ParameterizedTest
    @ValueSource(longs = {128, 256, 4096, 1 << 16})
    void largerAlignmentIsHonouredOrRejected(long byteAlignment) {
        long address;
        try {
            address = resource.allocate(100, byteAlignment);
        } catch (InvalidAlignmentException e) {
            assertThat(e.byteAlignment()).isEqualTo(byteAlignment);
            return;
        }
        assertThat(address % byteAlignment).isZero();
        resource.deallocate(address, 100, byteAlignment);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, 3, 255, 768, Long.MIN_VALUE})
    void alignmentsThatAreNotPowersOfTwoAreRejected(long byteAlignment) {
        assertThatThrownBy(() -> resource.allocate(100, byteAlignment)).isInstanceOf(InvalidAlignmentException.class);
    }

    @Test
    void foreignAddressesAndDoubleDeallocationsAreRejected() {
        long address = resource.allocate(100);
        assertThatThrownBy(() -> resource.deallocate(address + 64, 100)).isInstanceOf(InvalidFreeException.class);
        resource.deallocate(address, 100);
        assertThatThrownBy(() -> resource.deallocate(address, 100)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void aWrongSizeIsRejectedAndChangesNothing() {
        long address = resource.allocate(100);
        if (!checksSizes()) {
            resource.deallocate(address, 100);
            return;
        }
        assertThatThrownBy(() -> resource.deallocate(address, 99)).isInstanceOf(InvalidSizeException.class);
        resource.deallocate(address, 100);
        assertThatThrownBy(() -> resource.deallocate(address, 100)).isInstanceOf(ForeignAddressException.class);
    }

    /** Whether the stack checks the size of a block. */
    boolean checksSizes() {
        return true;
    }

    @Test
    void liveBlocksKeepTheirBytesThroughRandomCalls() {
        SplittableRandom random = new SplittableRandom(7);
        List<Block> live = new ArrayList<>();
        for (int step = 0; step < 2000; step++) {
            if (live.isEmpty() || random.nextInt(100) < 53) {
                long byteSize = 1 + random.nextLong(5000);
                Block block = new Block(resource.allocate(byteSize), byteSize);
                NativeMemory.segment(block.address, byteSize).fill((byte) block.address);
                live.add(block);
            } else {
                Collections.swap(live, random.nextInt(live.size()), live.size() - 1);
                checkAndDeallocate(live.removeLast());
            }
        }
        live.forEach(this::checkAndDeallocate);
    }

    private void checkAndDeallocate(Block block) {
        var bytes = NativeMemory.segment(block.address, block.byteSize);
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) block.address);
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, block.byteSize - 1)).isEqualTo((byte) block.address);
        resource.deallocate(block.address, block.byteSize);
    }

    @Test
    void oneThreadDeallocatesWhatAnotherAllocated() throws Exception {
        BlockingQueue<Block> queue = new ArrayBlockingQueue<>(64);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> producer = threads.submit(() -> {
                for (int i = 1; i <= 2000; i++) {
                    queue.put(new Block(resource.allocate(i), i));
                }
                return null;
            });
            for (int i = 0; i < 2000; i++) {
                Block block = queue.take();
                resource.deallocate(block.address, block.byteSize);
            }
            producer.get();
        }
    }

    @Test
    void fourThreadsAtOnceGetDistinctBlocks() throws Exception {
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                byte mark = (byte) (thread + 1);
                all.add(threads.submit(() -> allocateAndCheck(mark)));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
    }

    private void allocateAndCheck(byte mark) {
        Deque<Block> live = new ArrayDeque<>();
        for (int i = 1; i <= 1000; i++) {
            Block block = new Block(resource.allocate(i), i);
            NativeMemory.segment(block.address, i).fill(mark);
            live.add(block);
            if (live.size() > 20) {
                Block oldest = live.remove();
                assertThat(NativeMemory.segment(oldest.address, oldest.byteSize).toArray(ValueLayout.JAVA_BYTE))
                        .containsOnly(mark);
                resource.deallocate(oldest.address, oldest.byteSize);
            }
        }
        live.forEach(block -> resource.deallocate(block.address, block.byteSize));
    }

    @Test
    void aStreamOfAnotherDeviceIsRejectedAndChangesNothing() {
        FakeStream other = new FakeStream(new FakeResource(0).memory());
        StreamOrderedMemoryResource ordered = StreamOrderedMemoryResource.of(resource);
        assertThatThrownBy(() -> ordered.allocate(100, 64, other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is a stream of another device");
        long address = ordered.allocate(100, 64);
        assertThatThrownBy(() -> ordered.deallocate(address, 100, 64, other))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(other.flushes()).isZero();
        ordered.deallocate(address, 100, 64);
    }

    @Test
    void aDeallocationOnAStreamWaitsForItOverHostMemory() {
        FakeStream stream = new FakeStream(resource.memory());
        StreamOrderedMemoryResource ordered = StreamOrderedMemoryResource.of(resource);
        long address = ordered.allocate(100, 64, stream);
        ordered.deallocate(address, 100, 64, stream);
        assertThat(stream.flushes()).isEqualTo(1);
        ordered.deallocate(0, 0, 64, stream);
        assertThat(stream.flushes()).isEqualTo(1);
        ordered.deallocate(ordered.allocate(100, stream), 100, stream); // with the default alignment
        assertThat(stream.flushes()).isEqualTo(2);
    }
}
