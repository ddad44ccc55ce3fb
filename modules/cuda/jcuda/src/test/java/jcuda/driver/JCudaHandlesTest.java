package jcuda.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class JCudaHandlesTest {
    @Test
    void aStreamHasTheNumberThatItWasMadeFrom() {
        assertThat(JCudaHandles.handle(JCudaHandles.stream(0x7f12_3456_7890L))).isEqualTo(0x7f12_3456_7890L);
        assertThat(JCudaHandles.handle(new CUstream())).isZero();
    }

    @Test
    void aPointerHasItsAddressAndMoves() {
        final CUdeviceptr pointer = JCudaHandles.pointer(0x7f00_0000_0100L);
        assertThat(JCudaHandles.address(pointer)).isEqualTo(0x7f00_0000_0100L);
        assertThat(JCudaHandles.address(pointer.withByteOffset(0x40))).isEqualTo(0x7f00_0000_0140L);
    }
}
