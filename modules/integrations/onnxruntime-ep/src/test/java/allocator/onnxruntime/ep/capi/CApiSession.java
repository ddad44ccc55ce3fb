package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.IdentityModel;
import allocator.onnxruntime.support.OrtApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Map;

/** A session of the smallest model, with one device of a provider: it allocates nothing by itself. */
final class CApiSession {
    private static final int FLOAT = 1;
    private static final String SHRINK = "memory.enable_memory_arena_shrinkage";

    private final CApiLibrary library;
    private final CApiMemory memory;
    private final long session;

    /** Opens a session with settings of the provider. */
    CApiSession(CApiLibrary library, CApiMemory memory, Map<String, String> options) {
        this.library = library;
        this.memory = memory;
        session = library.errors().get(() -> open(memory, options));
    }

    private static long open(CApiMemory memory, Map<String, String> options) {
        final OrtApi api = CApi.ort();
        final long sessionOptions = api.create(OrtApi.Function.CREATE_SESSION_OPTIONS);
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment keys = scratch.allocate(JAVA_LONG, options.size() + 1);
            final MemorySegment values = scratch.allocate(JAVA_LONG, options.size() + 1);
            int i = 0;
            for (final Map.Entry<String, String> option : options.entrySet()) {
                keys.setAtIndex(
                        JAVA_LONG, i, scratch.allocateFrom(option.getKey()).address());
                values.setAtIndex(
                        JAVA_LONG, i, scratch.allocateFrom(option.getValue()).address());
                i++;
            }
            // A run would otherwise shrink ONNX Runtime's own arena instead of the provider's, which is of the CPU too.
            CApi.call(CApi.Function.DISABLE_CPU_MEM_ARENA, sessionOptions);
            CApi.call(
                    CApi.Function.SESSION_OPTIONS_APPEND_EXECUTION_PROVIDER_V2,
                    sessionOptions,
                    EnvironmentReference.handle(),
                    scratch.allocateFrom(JAVA_LONG, memory.device()).address(),
                    1,
                    keys.address(),
                    values.address(),
                    options.size());
            final byte[] model = IdentityModel.bytes();
            final MemorySegment bytes = scratch.allocate(model.length);
            MemorySegment.copy(MemorySegment.ofArray(model), 0, bytes, 0, model.length);
            return api.create(
                    OrtApi.Function.CREATE_SESSION_FROM_ARRAY,
                    EnvironmentReference.handle(),
                    bytes.address(),
                    model.length,
                    sessionOptions);
        } finally {
            api.release(OrtApi.Function.RELEASE_SESSION_OPTIONS, sessionOptions);
        }
    }

    /** Returns a handle of the session's allocator, which the caller releases before the close. */
    long createAllocator() {
        return CApi.ort().create(OrtApi.Function.CREATE_ALLOCATOR, session, memory.ortInfo());
    }

    /** Runs the model with the option that shrinks the session's arena of default memory. */
    void shrink() {
        library.errors().run(() -> {
            final long runOptions = CApi.get(CApi.Function.CREATE_RUN_OPTIONS);
            final long cpu = hostInfo();
            try (Arena scratch = Arena.ofConfined()) {
                CApi.call(
                        CApi.Function.ADD_RUN_CONFIG_ENTRY,
                        runOptions,
                        scratch.allocateFrom(SHRINK).address(),
                        scratch.allocateFrom(arenaName()).address());
                run(scratch, runOptions, cpu);
            } finally {
                CApi.release(CApi.Function.RELEASE_RUN_OPTIONS, runOptions);
                CApi.ort().release(OrtApi.Function.RELEASE_MEMORY_INFO, cpu);
            }
        });
    }

    private String arenaName() {
        return memory.info().deviceType().name().toLowerCase(Locale.ROOT) + ":" + memory.ordinal();
    }

    private void run(Arena scratch, long runOptions, long cpu) {
        final long input = tensor(scratch, cpu);
        final long output = tensor(scratch, cpu);
        try {
            CApi.call(
                    CApi.Function.RUN,
                    session,
                    runOptions,
                    scratch.allocateFrom(JAVA_LONG, scratch.allocateFrom("x").address())
                            .address(),
                    scratch.allocateFrom(JAVA_LONG, input).address(),
                    1,
                    scratch.allocateFrom(JAVA_LONG, scratch.allocateFrom("y").address())
                            .address(),
                    1,
                    scratch.allocateFrom(JAVA_LONG, output).address());
        } finally {
            CApi.release(CApi.Function.RELEASE_VALUE, input);
            CApi.release(CApi.Function.RELEASE_VALUE, output);
        }
    }

    private static long tensor(Arena scratch, long memoryInfo) {
        return CApi.get(
                CApi.Function.CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE,
                memoryInfo,
                scratch.allocate(Float.BYTES, 64).address(),
                Float.BYTES,
                scratch.allocateFrom(JAVA_LONG, 1).address(),
                1,
                FLOAT);
    }

    /** Makes an {@code OrtMemoryInfo} of host memory, which the caller releases. */
    static long hostInfo() {
        try (Arena scratch = Arena.ofConfined()) {
            return CApi.get(
                    CApi.Function.CREATE_MEMORY_INFO_V2,
                    scratch.allocateFrom("Cpu").address(),
                    0,
                    0,
                    0,
                    CApiMemory.DEFAULT,
                    0,
                    OrtApi.DEVICE_ALLOCATOR);
        }
    }

    void close() {
        library.errors().run(() -> CApi.ort().release(OrtApi.Function.RELEASE_SESSION, session));
    }
}
