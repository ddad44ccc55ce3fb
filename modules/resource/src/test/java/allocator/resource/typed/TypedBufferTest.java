package allocator.resource.typed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.resource.HostResource;
import allocator.resource.MemoryResource;
import allocator.resource.StatisticsResource;
import allocator.resource.StreamBoundResource;
import allocator.resource.budget.BudgetResource;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.UnsupportedMemoryException;
import allocator.testkit.FakeStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.foreign.ValueLayout.OfInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TypedBufferTest {
    private final HostResource host = new HostResource();
    private final StatisticsResource counted = new StatisticsResource(host);

    @AfterEach
    void nothingIsLeft() {
        assertThat(counted.statistics().blocks()).isZero();
        host.close();
    }

    private TypedBuffer<OfInt> ints(int... values) {
        var buffer = new TypedBuffer<>(counted, ValueLayout.JAVA_INT, values.length);
        buffer.segment().copyFrom(MemorySegment.ofArray(values));
        return buffer;
    }

    @Test
    void fewerElementsStayMoreMoveAndKeepTheirValues() {
        try (var buffer = ints(1, 2, 3, 4)) {
            long address = buffer.address();
            buffer.resize(2);
            assertThat(buffer.address()).isEqualTo(address);
            assertThat(buffer.capacity()).isEqualTo(4);
            buffer.resize(4);
            assertThat(buffer.address()).isEqualTo(address);
            buffer.resize(1000);
            assertThat(buffer.segment().asSlice(0, 16).toArray(ValueLayout.JAVA_INT))
                    .containsExactly(1, 2, 3, 4);
            buffer.resize(3);
            buffer.shrinkToFit();
            assertThat(buffer.capacity()).isEqualTo(3);
            assertThat(buffer.segment().toArray(ValueLayout.JAVA_INT)).containsExactly(1, 2, 3);
            assertThat(counted.statistics().bytes()).isEqualTo(12);
        }
    }

    @Test
    void aBufferGrowsIntoReservedCapacityWithoutMoving() {
        try (var buffer = ints(1, 2)) {
            buffer.reserve(100);
            assertThat(buffer.count()).isEqualTo(2);
            assertThat(buffer.capacity()).isEqualTo(100);
            long address = buffer.address();
            buffer.reserve(50);
            buffer.resize(100);
            assertThat(buffer.address()).isEqualTo(address);
            assertThat(buffer.segment().asSlice(0, 8).toArray(ValueLayout.JAVA_INT))
                    .containsExactly(1, 2);
            assertThat(counted.statistics().peakBlocks()).isEqualTo(2);
            assertThatThrownBy(() -> buffer.reserve(-1)).isInstanceOf(InvalidSizeException.class);
        }
    }

    @Test
    void aCopyHasMemoryOfItsOwn() {
        try (var buffer = ints(1, 2);
                var copy = buffer.copy()) {
            buffer.segment().set(ValueLayout.JAVA_INT, 0, 9);
            assertThat(copy.segment().toArray(ValueLayout.JAVA_INT)).containsExactly(1, 2);
        }
    }

    @Test
    void anEmptyBufferHasNoMemoryAndCanGrow() {
        try (var buffer = ints()) {
            assertThat(buffer.address()).isZero();
            assertThat(buffer.range().byteSize()).isZero();
            buffer.resize(1);
            assertThat(buffer.address()).isNotZero();
            buffer.resize(0);
            buffer.shrinkToFit();
            assertThat(buffer.address()).isZero();
            buffer.copy().close();
        }
    }

    @Test
    void aSliceIsStaleOnceTheBufferMoved() {
        var buffer = ints(1, 2, 3);
        TypedBuffer<OfInt>.Slice slice = buffer.slice(1, 2);
        assertThat(slice.count()).isEqualTo(2);
        assertThat(slice.range().address()).isEqualTo(buffer.address() + 4);
        assertThat(slice.range().byteSize()).isEqualTo(8);
        assertThatThrownBy(() -> buffer.slice(2, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> buffer.slice(-1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        buffer.resize(100);
        assertThatThrownBy(slice::range).isInstanceOf(IllegalStateException.class);
        TypedBuffer<OfInt>.Slice young = buffer.slice(0, 1);
        buffer.close();
        buffer.close();
        assertThatThrownBy(young::range).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(buffer::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> buffer.resize(1)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aResizeThatFailsLeavesTheBufferAsItWas() {
        MemoryResource small = new BudgetResource(counted, Budget.of("small", 20));
        try (var buffer = new TypedBuffer<>(small, ValueLayout.JAVA_INT, 3)) {
            buffer.segment().set(ValueLayout.JAVA_INT, 8, 7);
            assertThatThrownBy(() -> buffer.resize(4)).isInstanceOf(OutOfMemoryException.class);
            assertThatThrownBy(() -> buffer.resize(Long.MAX_VALUE)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> buffer.resize(-1)).isInstanceOf(InvalidSizeException.class);
            assertThat(buffer.segment().get(ValueLayout.JAVA_INT, 8)).isEqualTo(7);
        }
    }

    @Test
    void deviceMemoryNeedsTheTransferOfItsDevice() {
        FakeResource addresses = new FakeResource(1000);
        try (var buffer = new TypedBuffer<>(addresses, ValueLayout.JAVA_INT, 3)) {
            assertThatThrownBy(buffer::segment).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> buffer.resize(4)).isInstanceOf(UnsupportedMemoryException.class);
            assertThat(addresses.bytes()).isEqualTo(12);
            assertThatThrownBy(buffer::copy).isInstanceOf(UnsupportedMemoryException.class);
        }
        assertThat(addresses.blocks()).isZero();
    }

    @Test
    void overABoundResourceEveryCallIsOnItsStream() {
        FakeStream stream = new FakeStream(host.memory());
        var bound = new StreamBoundResource(counted, stream);
        try (var buffer = new TypedBuffer<>(bound, ValueLayout.JAVA_INT, 3)) {
            buffer.resize(4);
        }
        assertThat(stream.flushes()).isEqualTo(3); // the copy, and two deallocations
    }

    @Test
    void aBufferIsClosedAfterItsStream() {
        FakeResource addresses = new FakeResource(1000);
        FakeStream stream = new FakeStream(addresses.memory());
        var buffer = new TypedBuffer<>(new StreamBoundResource(addresses, stream), ValueLayout.JAVA_INT, 10);
        stream.close();
        buffer.close();
        assertThat(addresses.blocks()).isZero();
    }
}
