package allocator.cuda.driver.libcuda;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaResult;
import org.junit.jupiter.api.Test;

class ResultsTest {
    @Test
    void aNameOfJCudaBecomesItsCode() {
        for (final int result : new int[] {0, 1, 4, 100, 101, 201, 400, 600, 700, 800, 801}) {
            assertThat(Results.ofName(CudaResult.nameOf(result))).isEqualTo(result);
        }
    }

    @Test
    void aNameThatJCudaDoesNotKnowBecomesUnknown() {
        assertThat(Results.ofName("CUDA_ERROR_12345")).isEqualTo(999);
    }

    @Test
    void anExceptionOfJCudaBecomesItsCode() {
        assertThat(Results.ofJCuda(() -> {
                    throw new jcuda.CudaException("CUDA_ERROR_OUT_OF_MEMORY");
                }))
                .isEqualTo(CudaResult.OUT_OF_MEMORY);
    }
}
