package allocator.onnxruntime.ep;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import java.util.Map;
import java.util.TreeMap;

/** This project's runtime. */
final class RuntimeCore implements Core {
    private final RecordingProvider provider;
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private final Map<String, Session> sessions = new TreeMap<>();

    RuntimeCore(RecordingProvider provider) {
        this.provider = provider;
    }

    @Override
    public void register() {
        environment.register(provider);
    }

    @Override
    public void open(String session, Map<String, String> options, boolean isShared) {
        final SessionOptions.Builder builder =
                SessionOptions.builder().name(session).provider(provider.name());
        options.forEach((key, value) -> builder.option("ep.cpu-reference." + key, value));
        if (isShared) {
            builder.option("session.use_env_allocators", "1");
        }
        sessions.put(session, environment.openSession(builder.build()));
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
        sessions.remove(session).close();
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
