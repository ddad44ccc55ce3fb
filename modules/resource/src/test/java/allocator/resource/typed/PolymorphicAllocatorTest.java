package allocator.resource.typed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.spi.InvalidSizeException;
import allocator.testkit.FakeStream;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PolymorphicAllocatorTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void elementsAreCountedInTheirLayout() {
        var ints = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT);
        ints.deallocate(ints.allocate(10), 10);
        var longs = ints.with(ValueLayout.JAVA_LONG);
        longs.deallocate(longs.allocate(10), 10);
        assertThat(addresses.calls)
                .containsExactly(
                        "allocate 40 aligned 4",
                        "deallocate 40 aligned 4",
                        "allocate 80 aligned 8",
                        "deallocate 80 aligned 8");
    }

    @Test
    void aCountWhoseBytesOverflowIsRejected() {
        var longs = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_LONG);
        assertThatThrownBy(() -> longs.allocate(Long.MAX_VALUE / 8 + 1)).isInstanceOf(InvalidSizeException.class);
        long eightBytesWhenItOverflows = (1L << 61) + 1;
        assertThatThrownBy(() -> longs.allocate(eightBytesWhenItOverflows)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> longs.allocate(-1)).isInstanceOf(InvalidSizeException.class);
    }

    @Test
    void equalityFollowsTheResource() {
        var ints = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT);
        assertThat(ints).isEqualTo(new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_INT));
        assertThat(ints).isNotEqualTo(new PolymorphicAllocator<>(new FakeResource(1), ValueLayout.JAVA_INT));
    }

    @Test
    void everyCallIsOnTheStream() {
        FakeStream stream = new FakeStream(addresses.memory());
        var floats = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_FLOAT).on(stream);
        floats.deallocate(floats.allocate(5), 5);
        assertThat(addresses.calls)
                .containsExactly(
                        "on " + stream.handle(),
                        "allocate 20 aligned 4",
                        "on " + stream.handle(),
                        "deallocate 20 aligned 4");
    }

    @Test
    void anArrayOfAStreamThatHasEndedIsDeallocatedWithoutOne() {
        FakeStream stream = new FakeStream(addresses.memory());
        var floats = new PolymorphicAllocator<>(addresses, ValueLayout.JAVA_FLOAT).on(stream);
        long address = floats.allocate(5);
        stream.close();
        floats.deallocate(address, 5);
        assertThat(addresses.blocks()).isZero();
    }

    @Test
    void everyCountOfEveryLayoutIsItsProductOrRejected() {
        long[] counts = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .toArray();
        for (var layout :
                List.of(ValueLayout.JAVA_BYTE, ValueLayout.JAVA_SHORT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG)) {
            for (long boundary : counts) {
                for (long count : new long[] {boundary, boundary / layout.byteSize()}) {
                    long bytes = -1;
                    try {
                        bytes = PolymorphicAllocator.byteSize(layout, count);
                    } catch (InvalidSizeException e) {
                        // It is negative or too large.
                    }
                    BigInteger product = BigInteger.valueOf(count).multiply(BigInteger.valueOf(layout.byteSize()));
                    boolean isSize = count >= 0 && product.bitLength() < Long.SIZE;
                    assertThat(bytes).isEqualTo(isSize ? product.longValue() : -1);
                }
            }
        }
    }
}
