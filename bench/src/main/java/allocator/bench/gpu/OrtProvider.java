package allocator.bench.gpu;

import allocator.bench.subject.IdleStream;
import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.IdentityModel;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.onnxruntime.support.OrtLibrary;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * ONNX Runtime's own arenas, with its default settings: each is that of a new session, which is what an application's
 * session allocates from. {@code CreateAllocator} of the C API hands it out.
 */
final class OrtProvider implements Provider {
    private final MemoryInfo info;
    private final boolean hasArenas;

    private OrtProvider(String memory, DeviceType device, long alignment, boolean hasArenas) {
        info = new MemoryInfo(
                memory, new MemoryLocation(device, 0, 0, MemoryType.DEFAULT), alignment, AllocatorType.DEVICE);
        this.hasArenas = hasArenas;
    }

    /**
     * Returns the provider of a name: {@code onnxruntime-cuda}, arenas in memory of the first GPU;
     * {@code onnxruntime-cpu}, the same code for hosts without a GPU; {@code empty-call}, no arenas, but a function of
     * the C library that does next to nothing in their place, which shows what the calls alone cost.
     */
    static Optional<Provider> find(String name) {
        return switch (name) {
            case "onnxruntime-cuda" -> Optional.of(new OrtProvider("Cuda", DeviceType.GPU, 256, true));
            case "onnxruntime-cpu" -> Optional.of(new OrtProvider("Cpu", DeviceType.CPU, 64, true));
            case "empty-call" -> Optional.of(new OrtProvider("Cpu", DeviceType.CPU, 64, false));
            default -> Optional.empty();
        };
    }

    private StreamAwareAllocator emptyCalls() {
        final Linker linker = Linker.nativeLinker();
        final long function = linker.defaultLookup().findOrThrow("labs").address();
        return new OrtArena(info, 0, 1, function, function);
    }

    /** Makes a session and takes its arena. There are no options. */
    @Override
    public StreamAwareAllocator allocator(AllocatorOptions options) {
        if (!hasArenas) {
            return emptyCalls();
        }
        final OrtApi api = OrtLibrary.api();
        final long session = createSession(api);
        try (Arena scratch = Arena.ofConfined()) {
            final long memory = api.create(
                    Function.CREATE_MEMORY_INFO,
                    scratch.allocateFrom(info.name()).address(),
                    OrtApi.ARENA_ALLOCATOR,
                    0,
                    0);
            final long allocator = api.create(Function.CREATE_ALLOCATOR, session, memory);
            api.release(Function.RELEASE_MEMORY_INFO, memory);
            return OrtArena.of(info, session, allocator);
        }
    }

    private long createSession(OrtApi api) {
        final long environment = EnvironmentReference.handle(); // first: it has the logger that the options use
        final long options = api.create(Function.CREATE_SESSION_OPTIONS);
        if (info.deviceType() == DeviceType.GPU) {
            final long cuda = api.create(Function.CREATE_CUDA_PROVIDER_OPTIONS);
            api.call(Function.SESSION_OPTIONS_APPEND_CUDA_V2, options, cuda);
            api.release(Function.RELEASE_CUDA_PROVIDER_OPTIONS, cuda);
        }
        final byte[] model = IdentityModel.bytes();
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment bytes = scratch.allocate(model.length).copyFrom(MemorySegment.ofArray(model));
            return api.create(Function.CREATE_SESSION_FROM_ARRAY, environment, bytes.address(), model.length, options);
        } finally {
            api.release(Function.RELEASE_SESSION_OPTIONS, options);
        }
    }

    @Override
    public void release(Allocator allocator) {
        ((OrtArena) allocator).release();
    }

    @Override
    public SyncStream stream() {
        return new IdleStream(info);
    }

    /** Does nothing: ONNX Runtime's environment lives as long as the process. */
    @Override
    public void close() {}
}
