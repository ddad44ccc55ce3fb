package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AlignedResourceTest {
    private final FakeResource addresses = new FakeResource(1L << 40);

    @Test
    void requestsTheUpstreamAlignsPassThrough() {
        MemoryResource aligned = new AlignedResource(addresses, 128);
        aligned.deallocate(aligned.allocate(100, 8), 100, 8);
        assertThat(addresses.calls).containsExactly("allocate 100 aligned 256", "deallocate 100 aligned 256");
    }

    @Test
    void aLargerAlignmentAddsTheDifferenceAsPadding() {
        MemoryResource aligned = new AlignedResource(addresses, 4096);
        long address = aligned.allocate(100, 8);
        assertThat(address % 4096).isZero();
        aligned.deallocate(address, 100, 8);
        assertThat(addresses.calls).containsExactly("allocate 3940 aligned 256", "deallocate 3940 aligned 256");
    }

    @ParameterizedTest
    @ValueSource(longs = {255, 768, 0, -4096})
    void onlyPowersOfTwoAreAccepted(long byteAlignment) {
        assertThatThrownBy(() -> new AlignedResource(addresses, byteAlignment))
                .isInstanceOf(InvalidAlignmentException.class);
    }
}
