package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.onnxruntime.support.OrtLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads fake libraries that claim to be ONNX Runtime. */
class OnnxRuntimeLibraryTest {
    private static final int FUNCTIONS = 400;

    private final Arena memory = Arena.ofConfined();
    private MemorySegment base = MemorySegment.NULL;
    private MemorySegment version = MemorySegment.NULL;
    private MemorySegment table = MemorySegment.NULL;
    private int requestedApi;

    @AfterEach
    void close() {
        memory.close();
    }

    /** A library of this version, with this table of functions. Returns its {@code OrtGetApiBase}. */
    private MemorySegment library(String text, MemorySegment functions) {
        version = memory.allocateFrom(text);
        table = functions;
        base = memory.allocate(ADDRESS, 2);
        base.setAtIndex(ADDRESS, 0, function("getApi", ADDRESS, JAVA_INT));
        base.setAtIndex(ADDRESS, 1, function("getVersion", ADDRESS));
        return function("getBase", ADDRESS);
    }

    @SuppressWarnings("restricted")
    private MemorySegment function(String name, MemoryLayout result, MemoryLayout... parameters) {
        final FunctionDescriptor descriptor = FunctionDescriptor.of(result, parameters);
        final MethodType type = descriptor.toMethodType();
        try {
            return Linker.nativeLinker().upcallStub(MethodHandles.lookup().bind(this, name, type), descriptor, memory);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(name, e);
        }
    }

    MemorySegment getBase() {
        return base;
    }

    MemorySegment getVersion() {
        return version;
    }

    MemorySegment getApi(int api) {
        requestedApi = api;
        return table;
    }

    private static String failure(MemorySegment entryPoint) {
        return assertThrows(OnnxRuntimeException.class, () -> OrtLibrary.load(entryPoint))
                .reason();
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.22.1", "1.30.0", "2.0.0", "", "garbage"})
    void anUnknownVersionIsRejectedWithoutReadingItsFunctions(String text) {
        final String reason = failure(library(text, memory.allocate(ADDRESS, FUNCTIONS)));
        assertEquals("the layout of ONNX Runtime " + text + " is not known; use 1.23 to 1.29", reason);
        assertEquals(0, requestedApi);
    }

    @Test
    void aLibraryThatDoesNotOfferItsOwnVersionIsRejected() {
        final String reason = failure(library("1.27.3", MemorySegment.NULL));
        assertTrue(reason.contains("1.27.3 does not offer version 27"), reason);
        assertEquals(27, requestedApi);
    }

    @Test
    void aLibraryThatLacksAFunctionIsRejected() {
        final String reason = failure(library("1.29.0", memory.allocate(ADDRESS, FUNCTIONS)));
        assertTrue(reason.contains("1.29.0 has no function GET_ERROR_CODE"), reason);
    }

    @Test
    void aLibraryWithoutAnApiIsRejected() {
        library("1.29.0", MemorySegment.NULL);
        base = MemorySegment.NULL;
        assertTrue(failure(function("getBase", ADDRESS)).contains("has no API"));
    }
}
