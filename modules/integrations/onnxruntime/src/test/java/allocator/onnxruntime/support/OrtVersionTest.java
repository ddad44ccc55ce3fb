package allocator.onnxruntime.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OrtVersionTest {
    @ParameterizedTest
    @CsvSource({"1.23.0, 23", "1.24.2, 24", "1.26.0, 26", "1.28.0, 28", "1.29.0, 29", "1.29.0-rc1, 29"})
    void knownVersionsHaveTheirApi(String text, int api) {
        assertEquals(api, OrtVersion.parse(text).api());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.22.0",
                "1.30.0",
                "2.0.0",
                "0.29.1",
                "1.29",
                "",
                "1.x.0",
                "1.99999999999.0",
                "1.-23.0",
                "v1.29.0"
            })
    void otherVersionsAreRefusedByName(String text) {
        final OnnxRuntimeException failure = assertThrows(OnnxRuntimeException.class, () -> OrtVersion.parse(text));

        final String reason = String.valueOf(failure.getMessage());
        assertTrue(reason.contains("ONNX Runtime " + text + " is not known; use 1.23 to 1.29"), reason);
        assertEquals(OnnxRuntimeException.NO_CODE, failure.code());
    }

    @Test
    void theLibraryHasTheVersionOfItsApi() {
        assertTrue(OnnxRuntimeLibrary.version().startsWith("1." + OnnxRuntimeLibrary.apiVersion() + "."));
    }
}
