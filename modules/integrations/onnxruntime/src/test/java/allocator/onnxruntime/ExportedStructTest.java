package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Exported allocators as native code sees them: called through ONNX Runtime's C API. */
class ExportedStructTest {
    private final OrtApi api = NativeEnvironment.get().api();
    private final HeapAllocator heap = new HeapAllocator();
    private final SessionBudget budget = new SessionBudget(null, AllocatorStats.UNLIMITED);
    private final ExportedAllocator allocator = new ExportedAllocator(
            heap, OrtMemory.CPU, null, budget, null, null, new FailureLog("the test", "no model", null));

    private long alloc(long byteSize) {
        return api.create(Function.ALLOCATOR_ALLOC, allocator.struct(), byteSize);
    }

    private void free(long address) {
        api.call(Function.ALLOCATOR_FREE, allocator.struct(), address);
    }

    @Test
    void nativeCodeGetsAndReturnsBlocks() {
        final long block = alloc(1000);
        assertEquals(0, block % 64);
        assertEquals(1, allocator.liveBlocks());
        assertEquals(1000, allocator.stats().bytesInUse());
        free(block);
        assertEquals(0, heap.liveBlocks());
        assertEquals(1, allocator.stats().numAllocs());
        assertEquals(1000, allocator.stats().maxAllocSize());
        allocator.close();
    }

    @Test
    void aSizeOfZeroYieldsAnAddressThatMayBeFreed() {
        final long block = alloc(0);
        assertNotEquals(0, block);
        free(block);
        free(block);
        free(0);
        assertEquals(0, allocator.stats().numAllocs());
    }

    @Test
    void aFailureIsAStatusWithTheAllocatorsText() {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        budget.setLimit(999);
        for (int i = 0; i < 100; i++) {
            final OnnxRuntimeException failure = assertThrows(OnnxRuntimeException.class, () -> alloc(1000));
            assertTrue(failure.reason().contains("the allocator of the test cannot allocate"), failure.reason());
        }
        assertEquals(100, allocator.stats().numFailedAllocs());
        assertEquals(0, allocator.liveBlocks());
        final OutOfMemoryException cause =
                allocator.failures().take().orElseThrow().outOfMemory().orElseThrow();
        assertEquals(999, cause.shortage().limit());
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, -256})
    void aSizeBeyondALongIsRejected(long byteSize) {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        assertThrows(OnnxRuntimeException.class, () -> alloc(byteSize));
        assertEquals(
                InvalidSizeException.class,
                allocator.failures().take().orElseThrow().cause().getClass());
        assertEquals(0, budget.used());
    }

    @Test
    void wrongFreesDoNotReachTheAllocator() {
        final long block = alloc(1000);
        free(block + 64);
        free(64);
        assertEquals(1, allocator.liveBlocks());
        free(block);
        free(block);
        assertEquals(0, heap.liveBlocks());
        assertEquals(0, budget.used());
    }

    @Test
    void statisticsCanBeReadByNativeCode() {
        final long block = alloc(1000);
        final var pairs = api.takePairs(api.create(Function.ALLOCATOR_GET_STATS, allocator.struct()));
        assertEquals("1000", pairs.get("InUse"));
        assertEquals(allocator.stats().toMap(), pairs);
        free(block);
    }

    @Test
    void nothingIsThrownIntoNativeCode() {
        final HeapAllocator broken = new HeapAllocator() {
            @Override
            public int spiLevel() {
                throw new StackOverflowError("broken on purpose");
            }

            @Override
            public AllocatorStats stats() {
                throw new IllegalStateException("broken on purpose");
            }
        };
        final ExportedAllocator exported = new ExportedAllocator(
                broken, OrtMemory.CPU, null, budget, null, null, new FailureLog("the test", "no model", null));
        final MemorySegment struct = OrtApi.view(exported.struct(), OrtAllocatorLayout.BYTE_SIZE);
        assertNotEquals(0, api.create(Function.ALLOCATOR_GET_STATS, exported.struct()));
        final long shrink = struct.get(JAVA_LONG, OrtAllocatorLayout.SHRINK);
        if (shrink != 0) {
            assertEquals(0, OrtApi.callMember(shrink, exported.struct(), 0));
        }
        if (ThrowingThunk.isSupported()) {
            final long reserve = struct.get(JAVA_LONG, OrtAllocatorLayout.RESERVE);
            assertNotEquals(0, reserve);
        }
        exported.close();
    }

    @Test
    void aStructHasTheVersionThatTheLibraryKnows() {
        final MemorySegment struct = OrtApi.view(allocator.struct(), OrtAllocatorLayout.BYTE_SIZE);
        final int version = struct.get(JAVA_INT, OrtAllocatorLayout.VERSION);
        assertEquals(api.version().api() < 25 ? 23 : 25, version);
        assertEquals(version < 25, struct.get(JAVA_LONG, OrtAllocatorLayout.SHRINK) == 0);
        assertEquals(0, struct.get(JAVA_LONG, OrtAllocatorLayout.ALLOC_ON_STREAM));
    }

    @Test
    void cannotBeClosedWhileBlocksLiveOrItIsRegistered() {
        final long block = alloc(1000);
        assertTrue(String.valueOf(assertThrows(IllegalStateException.class, allocator::close)
                        .getMessage())
                .contains("holds 1 block, 1000 bytes, of the test"));
        free(block);
        allocator.setRegistered(true);
        assertTrue(String.valueOf(assertThrows(IllegalStateException.class, allocator::close)
                        .getMessage())
                .contains("is registered"));
        allocator.setRegistered(false);
        allocator.close();
        allocator.close();
    }

    @Test
    void afterTheCloseAllocationsFailAndFreesAreIgnored() {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        allocator.close();
        assertThrows(OnnxRuntimeException.class, () -> alloc(1000));
        free(64);
        assertEquals(0, api.create(Function.ALLOCATOR_GET_STATS, allocator.struct()));
    }

    @Test
    @SuppressWarnings("restricted")
    void nativeThreadsMayCall() throws Throwable {
        final Linker linker = Linker.nativeLinker();
        final SymbolLookup library = linker.defaultLookup();
        assumeTrue(library.find("pthread_create").isPresent(), "no POSIX threads");
        final MethodHandle create = linker.downcallHandle(
                library.findOrThrow("pthread_create"),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG));
        final MethodHandle join = linker.downcallHandle(
                library.findOrThrow("pthread_join"), FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        final MemorySegment info =
                OrtApi.view(allocator.struct(), OrtAllocatorLayout.BYTE_SIZE).get(ADDRESS, OrtAllocatorLayout.INFO);
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment thread = scratch.allocate(JAVA_LONG);
            final MemorySegment result = scratch.allocate(JAVA_LONG);
            for (int i = 0; i < 50; i++) {
                // The start routine takes one argument, the struct, and returns a pointer, as Info does.
                assertEquals(0, (int) create.invokeExact(thread, 0L, info, allocator.struct()));
                assertEquals(0, (int) join.invokeExact(thread.get(JAVA_LONG, 0), result));
                assertEquals(NativeEnvironment.get().memoryInfo(OrtMemory.CPU), result.get(JAVA_LONG, 0));
            }
        }
    }

    @Test
    void theFlightRecorderSeesBlocksWhenEnabled(@TempDir Path folder) throws Exception {
        final Path file = folder.resolve("events.jfr");
        final long block;
        try (Recording recording = new Recording()) {
            recording.enable("allocator.Allocation");
            recording.enable("allocator.Free");
            recording.start();
            block = alloc(1000);
            free(block);
            budget.setLimit(1);
            if (ThrowingThunk.isSupported()) {
                assertThrows(OnnxRuntimeException.class, () -> alloc(1000));
            }
            recording.stop();
            recording.dump(file);
        }
        int allocations = 0;
        int frees = 0;
        int failures = 0;
        for (final RecordedEvent event : RecordingFile.readAllEvents(file)) {
            if (event.hasField("owner") && event.getString("owner").equals("the test")) {
                final String name = event.getEventType().getName();
                allocations += name.endsWith(".Allocation") && event.getLong("byteSize") == 1000 ? 1 : 0;
                frees += name.endsWith(".Free") && event.getLong("address") == block ? 1 : 0;
                if (name.endsWith(".Failure")) {
                    failures++;
                    assertTrue(
                            event.getString("reason").contains("the budget of the test is smaller than the request"),
                            event::toString);
                    assertTrue(event.getString("detail").contains("session the test, model no model"), event::toString);
                }
            }
        }
        assertEquals(1, allocations);
        assertEquals(1, frees);
        assertEquals(ThrowingThunk.isSupported() ? 1 : 0, failures);
    }
}
