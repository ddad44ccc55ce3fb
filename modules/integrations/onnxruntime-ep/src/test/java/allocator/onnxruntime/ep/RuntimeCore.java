package allocator.onnxruntime.ep;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** This project's runtime. */
final class RuntimeCore implements Core {
    private final RecordingProvider provider;
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private final Map<String, Session> sessions = new TreeMap<>();
    private final Map<String, Long> weights = new TreeMap<>();
    private final Map<String, SyncStream> streams = new TreeMap<>();

    RuntimeCore(RecordingProvider provider) {
        this.provider = provider;
    }

    @Override
    public void register() {
        environment.register(provider);
    }

    @Override
    public void open(String session, Map<String, String> options, Set<Feature> features) {
        final SessionOptions.Builder builder =
                SessionOptions.builder().name(session).provider(provider.name());
        options.forEach((key, value) -> builder.option("ep." + provider.name() + "." + key, value));
        if (features.contains(Feature.SHARED)) {
            builder.option("session.use_env_allocators", "1");
        }
        final Session opened = environment.openSession(builder.build());
        sessions.put(session, opened);
        if (features.contains(Feature.WEIGHT)) {
            final MemorySegment weight = Arena.ofAuto().allocate(JAVA_FLOAT, ArithmeticModel.COLUMNS);
            weights.put(session, opened.loadInitializer(weight));
        }
    }

    /** The runtime does not plan what a model needs: the work allocates a result of the size that ONNX Runtime does. */
    @Override
    public void run(String session, int rows, boolean shrinks) {
        final RunOptions options =
                shrinks ? RunOptions.builder().shrink("cpu:0").build() : RunOptions.DEFAULT;
        sessions.get(session).run(options, run -> {
            final ManagedAllocator allocator = run.allocator();
            allocator.free(allocator.alloc(rows * 12L));
        });
    }

    @Override
    public void replace(Map<String, String> options) {
        final var device = environment.devices().getFirst();
        environment.createSharedAllocator(
                device, device.device().defaultMemory().orElseThrow(), AllocatorOptions.of(options));
    }

    @Override
    public void close(String session) {
        final Session closed = sessions.remove(session);
        final Long weight = weights.remove(session);
        if (weight != null) {
            closed.initializerAllocator(closed.allocator().info().location())
                    .orElseThrow()
                    .free(weight);
        }
        closed.close();
    }

    @Override
    public void openStream(String stream) {
        streams.put(stream, onlySession().openStream());
    }

    @Override
    public void allocate(String stream, int byteSize) {
        final ManagedAllocator allocator = onlySession().allocator();
        allocator.free(allocator.allocOnStream(byteSize, streams.get(stream)));
    }

    @Override
    public void closeStream(String stream) {
        streams.remove(stream).close();
    }

    /** The runtime has streams of sessions only. */
    private Session onlySession() {
        return sessions.values().iterator().next();
    }

    @Override
    public void unregister() {
        environment.unregister(provider.name());
    }

    @Override
    public void close() {
        environment.close();
    }
}
