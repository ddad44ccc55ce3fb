package allocator.bench.models;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.OnnxRuntimeFactory;
import allocator.onnxruntime.SessionSettings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A run of a model by ONNX Runtime on the processor, with its own arena and with memory of ours; all threads use one
 * session.
 *
 * <pre>
 * bench/run jmh ModelRun -p model=tiny_bert.onnx -p size=16,128 -t 2
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(
        value = 5,
        jvmArgsAppend = {"-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"})
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class ModelRun {
    /**
     * The memory: {@code ort} is ONNX Runtime's arena, {@code ours} is {@code cpu-reference} with its defaults,
     * {@code as-requested} the same with {@code arena.extend_strategy=1}, and {@code callbacks} ONNX Runtime's arena as
     * our provider, so that the callbacks are all that differs from {@code ort}.
     */
    @Param({"ort", "ours", "as-requested", "callbacks"})
    public String memory = "";

    /** The model's file. */
    @Param("model.onnx")
    public String model = "";

    /** What fills the free dimensions of the inputs after the first. */
    @Param("128")
    public int size;

    /** Which events are recorded; see {@link RecordedEvents}. */
    @Param("none")
    public String events = "";

    private Map<String, OnnxTensor> inputs = Map.of();
    private @Nullable Runs runs;

    /** What is closed at last, the latest first. */
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    /** A session. */
    private interface Runs {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    /** Opens the session. */
    @Setup
    public void open() throws OrtException {
        RecordedEvents.record(events);
        final SessionOptions options = new SessionOptions();
        open.push(options);
        options.setIntraOpNumThreads(1);
        if (memory.equals("ort")) {
            final OrtSession session = OrtEnvironment.getEnvironment().createSession(model, options);
            open.push(session);
            runs = session::run;
            inputs = ModelInputs.of(session, 1, size);
            return;
        }
        OnnxRuntimeAllocators.Builder builder =
                OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()).provider("cpu-reference");
        if (memory.equals("as-requested")) {
            builder = builder.option("arena.extend_strategy", "1");
        }
        final OnnxRuntimeAllocators installed = builder.install();
        open.push(installed);
        installed.warmUp();
        SessionSettings settings = SessionSettings.DEFAULT;
        if (memory.equals("callbacks")) {
            final OnnxRuntimeFactory ort = new OnnxRuntimeFactory();
            open.push(ort);
            final Allocator theirs = ort.createAllocator(
                    ort.discoverDevices().devices().getFirst().defaultMemory().orElseThrow(),
                    AllocatorOptions.of(Map.of("ort.check_frees", "0")));
            open.push(() -> ort.releaseAllocator(theirs));
            settings = settings.withDecorator(_ -> theirs);
        }
        final AllocatorSession session = installed.openSession(Path.of(model), options, settings);
        open.push(session);
        runs = session::run;
        inputs = ModelInputs.of(session.session(), 1, size);
    }

    /** Runs the model. */
    @Benchmark
    public void run() throws OrtException {
        Objects.requireNonNull(runs).run(inputs).close();
    }

    /** Closes the session. */
    @TearDown
    public void close() throws Exception {
        inputs.values().forEach(OnnxTensor::close);
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }
}
