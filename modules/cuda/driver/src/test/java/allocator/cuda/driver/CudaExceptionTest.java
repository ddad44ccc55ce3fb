package allocator.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CudaExceptionTest {
    @Test
    void theMessageTellsCallArgumentsNameAndCode() {
        final CudaException e =
                new CudaException(CudaFunction.MEM_ALLOC, "device=0, byteSize=1024", CudaResult.OUT_OF_MEMORY);
        assertThat(e).hasMessage("cuMemAlloc(device=0, byteSize=1024) failed with CUDA_ERROR_OUT_OF_MEMORY (2)");
        assertThat(e.function()).isEqualTo(CudaFunction.MEM_ALLOC);
        assertThat(e.result()).isEqualTo(2);
        assertThat(e.resultName()).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
    }

    @Test
    void onlyOutOfMemoryIsOutOfMemory() {
        for (int result = 1; result < 1000; result++) {
            assertThat(new CudaException(CudaFunction.MEM_FREE, "", result).isOutOfMemory())
                    .isEqualTo(result == CudaResult.OUT_OF_MEMORY);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, CUDA_SUCCESS",
        "1, CUDA_ERROR_INVALID_VALUE",
        "4, CUDA_ERROR_DEINITIALIZED",
        "100, CUDA_ERROR_NO_DEVICE",
        "101, CUDA_ERROR_INVALID_DEVICE",
        "201, CUDA_ERROR_INVALID_CONTEXT",
        "400, CUDA_ERROR_INVALID_HANDLE",
        "600, CUDA_ERROR_NOT_READY",
        "700, CUDA_ERROR_ILLEGAL_ADDRESS",
        "800, CUDA_ERROR_NOT_PERMITTED",
        "801, CUDA_ERROR_NOT_SUPPORTED"
    })
    void resultsHaveCudasNames(int result, String name) {
        assertThat(CudaResult.nameOf(result)).isEqualTo(name);
    }

    @Test
    void aResultThatIsTooNewIsNamedByItsNumber() {
        assertThat(CudaResult.nameOf(12345)).isEqualTo("CUDA_ERROR_12345");
    }

    @ParameterizedTest
    @EnumSource
    void aFunctionIsNamedByItsConstant(CudaFunction function) {
        assertThat(function.symbol()).startsWith(function.functionName());
        assertThat(function.functionName().substring(2))
                .isEqualToIgnoringCase(function.name().replace("_", ""));
    }

    @Test
    void noTwoFunctionsShareASymbol() {
        assertThat(Arrays.stream(CudaFunction.values()).map(CudaFunction::symbol))
                .doesNotHaveDuplicates();
    }
}
