package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void theModuleHasItsName() {
        assertEquals(
                "java.allocator.onnxruntime",
                OnnxRuntimeAllocators.class.getModule().getName());
    }
}
