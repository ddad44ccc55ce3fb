package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** ONNX Runtime's core, which hosts the provider as a plug-in. */
final class OrtCore implements Core {
    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    private final RecordingProvider provider;
    private final Map<String, OrtSession> sessions = new TreeMap<>();
    private final Map<String, Long> streams = new TreeMap<>();
    private PluginLibrary library = null;

    OrtCore(RecordingProvider provider) {
        this.provider = provider;
    }

    @Override
    public void register() {
        library = PluginLibrary.on(ENVIRONMENT).provider(provider).runNodes().register();
    }

    @Override
    public void open(String session, Map<String, String> options, Set<Feature> features) throws OrtException {
        try (SessionOptions sessionOptions = new SessionOptions()) {
            // Only the provider's memory is an arena.
            sessionOptions.setCPUArenaAllocator(false);
            sessionOptions.setMemoryPatternOptimization(features.contains(Feature.PATTERNS));
            if (features.contains(Feature.SHARED)) {
                sessionOptions.addConfigEntry("session.use_env_allocators", "1");
            }
            sessionOptions.addExecutionProvider(library.devices(), options);
            sessions.put(
                    session,
                    ENVIRONMENT.createSession(
                            features.contains(Feature.WEIGHT)
                                    ? ArithmeticModel.bytesWithWeight()
                                    : ArithmeticModel.bytes(),
                            sessionOptions));
        }
    }

    @Override
    public void run(String session, int rows, boolean shrinks) throws OrtException {
        final OrtSession.RunOptions options = new OrtSession.RunOptions();
        if (shrinks) {
            options.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
        }
        final int[] ignored = ArithmeticModel.run(sessions.get(session), rows, 1, options);
    }

    @Override
    public void replace(Map<String, String> options) {
        final long ignored =
                NativeOrt.createSharedAllocator(NativeOrt.device(provider.name()), NativeOrt.DEFAULT, options);
    }

    @Override
    public void close(String session) throws OrtException {
        sessions.remove(session).close();
    }

    @Override
    public void openStream(String stream) {
        streams.put(stream, NativeOrt.createStream(NativeOrt.device(provider.name())));
    }

    @Override
    public void allocate(String stream, int byteSize) {
        final long allocator =
                NativeOrt.sharedAllocator(NativeOrt.memoryInfo(NativeOrt.device(provider.name()), NativeOrt.DEFAULT));
        NativeOrt.free(
                allocator,
                NativeOrt.callMember(allocator, OrtAllocatorLayout.ALLOC_ON_STREAM, byteSize, streams.get(stream)));
    }

    @Override
    public void closeStream(String stream) {
        NativeOrt.releaseStream(streams.remove(stream));
    }

    @Override
    public void unregister() {
        library.close();
    }

    @Override
    public void close() throws OrtException {
        for (final OrtSession session : sessions.values()) {
            session.close();
        }
        library.close();
        provider.close();
    }
}
