package allocator.onnxruntime;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.RunOptions;
import ai.onnxruntime.TensorInfo;
import allocator.onnxruntime.support.JavaHandles;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.spi.DeviceType;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Inputs and outputs of a session in tensors of the program: a run copies neither, unless a tensor is in another memory
 * than the operator that uses it. Made by {@link AllocatorSession#bind}.
 *
 * <pre>{@code
 * try (DeviceTensor x = memory.gpu(0).tensor(ElementType.FLOAT, 1, 512);
 *         DeviceTensor y = memory.gpu(0).tensor(ElementType.FLOAT, 1, 10);
 *         Binding binding = session.bind().input("x", x).output("y", y)) {
 *     x.copyFrom(MemorySegment.ofArray(pixels));
 *     binding.run();
 *     y.copyTo(MemorySegment.ofArray(scores));
 * }
 * }</pre>
 *
 * <p>All inputs must be bound, and one output at least; what is not bound is not computed. The tensors stay the
 * program's. A run allocates nothing on the Java heap, unless an output is left to ONNX Runtime.
 *
 * <p><b>Graphs.</b> A session whose CUDA options have {@code enable_cuda_graph=1} can {@link #capture} the work of a
 * binding; its runs launch that from then on. What the graph uses stays allocated until the binding is closed.
 *
 * <p>Calls of several threads wait for one another, but a copy of elements is ordered with a run of another thread by
 * the program only: give each thread a binding and tensors. The session's close closes its bindings.
 */
public final class Binding implements AutoCloseable {
    private static final String GRAPH = "gpu_graph_id";

    private static final String NO_GRAPH = "-1";

    private final AllocatorSession session;
    private final OrtApi api = OnnxRuntimeLibrary.api();
    private final Map<String, Slot> inputs = new LinkedHashMap<>();

    /** Those that are bound, in the order of ONNX Runtime's. */
    private final Map<String, Slot> outputs = new LinkedHashMap<>();

    private final Map<String, NodeInfo> inputInfo;
    private final Map<String, NodeInfo> outputInfo;

    /** The names, for native code. */
    private final Arena names = Arena.ofShared();

    private final long ortSession;
    private final RunOptions options = new RunOptions();
    private final RunOptions launchOptions = new RunOptions();
    private final long optionsHandle = JavaHandles.of(options);
    private final long launchHandle = JavaHandles.of(launchOptions);
    private final boolean hasGpu;

    /** All that is bound. */
    private Slot[] slots = {};

    /** The {@code OrtIoBinding}, 0 from the close on. Guarded by the session, and by its runs. */
    private long handle;

    private @Nullable SyncNotification notification;

    /** The stream of launches that nothing has waited for; {@code null} if there are none. */
    private @Nullable SyncStream launched;

    /** The graph's blocks of each memory of the session; {@code null} if there is no graph. */
    private @Nullable List<GraphBlocks> graph;

    private @Nullable Thread capturer;

    private boolean hasRun;

    /** An input or output. */
    private static final class Slot {
        private final String name;
        private final boolean isInput;
        private final long nativeName;

        /** What is bound; {@code null} if ONNX Runtime allocates it in {@code memory}. */
        private @Nullable DeviceTensor tensor;

        private @Nullable InstalledMemory memory;

        Slot(String name, boolean isInput, long nativeName) {
            this.name = name;
            this.isInput = isInput;
            this.nativeName = nativeName;
        }

        @Override
        public String toString() {
            return (isInput ? "input " : "output ") + name;
        }
    }

    /** Makes a binding; the session closes it. Called under the session's monitor. */
    Binding(AllocatorSession session) throws OrtException {
        this.session = session;
        inputInfo = session.session().getInputInfo();
        outputInfo = session.session().getOutputInfo();
        ortSession = JavaHandles.of(session.session());
        try {
            launchOptions.addRunConfigEntry("disable_synchronize_execution_providers", "1");
            setGraph(NO_GRAPH);
            hasGpu = isOnGpu(Function.SESSION_GET_MEMORY_INFO_FOR_OUTPUTS, outputInfo.size())
                    || isOnGpu(Function.SESSION_GET_MEMORY_INFO_FOR_INPUTS, inputInfo.size());
            handle = api.create(Function.CREATE_IO_BINDING, ortSession);
        } catch (Throwable e) {
            options.close();
            launchOptions.close();
            throw e;
        }
    }

    /** Returns whether the session has inputs, or outputs, in memory of a GPU. */
    private boolean isOnGpu(Function infos, int count) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment all = scratch.allocate(ValueLayout.JAVA_LONG, Math.max(1, count));
            api.call(infos, ortSession, all.address(), count);
            return Arrays.stream(all.toArray(ValueLayout.JAVA_LONG))
                    .limit(count)
                    .anyMatch(info -> OrtApi.text(api.create(Function.MEMORY_INFO_GET_NAME, info))
                            .startsWith(OrtMemory.CUDA));
        }
    }

    private void setGraph(String id) throws OrtException {
        options.addRunConfigEntry(GRAPH, id);
        launchOptions.addRunConfigEntry(GRAPH, id);
    }

    /** Returns options for a run that neither captures nor replays a graph, to be closed by the caller. */
    static RunOptions withoutGraph() throws OrtException {
        final RunOptions options = new RunOptions();
        try {
            options.addRunConfigEntry(GRAPH, NO_GRAPH);
            return options;
        } catch (Throwable e) {
            options.close();
            throw e;
        }
    }

    /**
     * Binds an input, in place of what was bound to it before.
     *
     * @param name its name in the model
     * @param tensor the elements of the next runs, which a later {@link DeviceTensor#copyFrom} may replace
     * @return this binding
     * @throws IllegalArgumentException if the model has no such input, or one of another type or shape; if the tensor's
     *     memory is not of the session's installation
     * @throws IllegalStateException if this or the tensor is closed, or a graph was captured
     */
    public Binding input(String name, DeviceTensor tensor) {
        return bind(inputs, inputInfo, true, name, tensor);
    }

    /**
     * Binds an output, in place of what was bound to it before.
     *
     * @param name its name in the model
     * @param tensor where the elements go; a run fails if they have another shape
     * @return this binding
     * @throws IllegalArgumentException as {@link #input}, or if another output is bound to memory of the tensor
     * @throws IllegalStateException as {@link #input}
     */
    public Binding output(String name, DeviceTensor tensor) {
        return bind(outputs, outputInfo, false, name, tensor);
    }

    /**
     * Leaves an output to ONNX Runtime, which allocates it from the session's memory in each run. {@link #result}
     * returns it.
     *
     * @param name its name in the model
     * @param memory the installed memory that it is to be in
     * @return this binding
     * @throws IllegalArgumentException as {@link #input}
     * @throws IllegalStateException as {@link #input}
     */
    public synchronized Binding output(String name, InstalledMemory memory) {
        Objects.requireNonNull(memory, "memory");
        synchronized (session) {
            requireNoGraph();
            requireInstalled("output " + name, memory);
            final Slot slot = slot(outputs, outputInfo, false, name);
            awaitLaunch();
            bindToDevice(slot, memory);
            slot.tensor = null;
            slot.memory = memory;
            add(outputs, slot);
        }
        return this;
    }

    private synchronized Binding bind(
            Map<String, Slot> bound, Map<String, NodeInfo> infos, boolean isInput, String name, DeviceTensor tensor) {
        Objects.requireNonNull(tensor, "tensor");
        synchronized (session) {
            requireNoGraph();
            final Slot slot = slot(bound, infos, isInput, name);
            requireInstalled(slot.toString(), tensor.block().memory());
            requireMatch(slot, Objects.requireNonNull(infos.get(name)), tensor);
            if (!isInput) {
                for (final Slot other : outputs.values()) {
                    final DeviceTensor taken = other.tensor;
                    if (taken != null && !other.name.equals(name) && !taken.isClosed() && taken.overlaps(tensor)) {
                        throw new IllegalArgumentException(
                                tensor + " cannot be " + slot + ": its memory is bound to " + other);
                    }
                }
            }
            awaitLaunch();
            use(slot, tensor);
            try {
                bind(slot, tensor);
            } finally {
                tensor.endUse();
            }
            slot.tensor = tensor;
            slot.memory = null;
            add(bound, slot);
        }
        return this;
    }

    private void bind(Slot slot, DeviceTensor tensor) {
        api.call(slot.isInput ? Function.BIND_INPUT : Function.BIND_OUTPUT, handle, slot.nativeName, tensor.value());
    }

    private void bindToDevice(Slot slot, InstalledMemory memory) {
        final long info = NativeEnvironment.get().memoryInfo(memory.target().memory());
        api.call(Function.BIND_OUTPUT_TO_DEVICE, handle, slot.nativeName, info);
    }

    private void add(Map<String, Slot> bound, Slot slot) {
        bound.put(slot.name, slot);
        slots = Stream.concat(inputs.values().stream(), outputs.values().stream())
                .toArray(Slot[]::new);
    }

    private Slot slot(Map<String, Slot> bound, Map<String, NodeInfo> infos, boolean isInput, String name) {
        requireOpen();
        final Slot known = bound.get(name);
        if (known != null) {
            return known;
        }
        if (!infos.containsKey(name)) {
            throw new IllegalArgumentException("the model of " + session.name() + " has no "
                    + (isInput ? "input " : "output ") + name + "; it has " + infos.keySet());
        }
        return new Slot(name, isInput, names.allocateFrom(name).address());
    }

    private void requireInstalled(String what, InstalledMemory memory) {
        if (!session.isOf(memory)) {
            throw new IllegalArgumentException(what + " is in " + memory.info() + " of another installation than "
                    + session.name() + "'s; copy it to a tensor of that one");
        }
        if (!hasGpu && !memory.isOfHost()) {
            throw new IllegalArgumentException(what + " is in " + memory.info() + ", but " + session.name()
                    + " has no input or output on a GPU: was it opened with ONNX Runtime's CUDA provider?");
        }
    }

    private static void requireMatch(Slot slot, NodeInfo node, DeviceTensor tensor) {
        if (!(node.getInfo() instanceof TensorInfo info)) {
            throw new IllegalArgumentException(slot + " is no tensor: " + node);
        }
        final boolean isKnown = info.onnxType != TensorInfo.OnnxTensorType.ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        if (isKnown && !tensor.type().isOf(info)) {
            throw new IllegalArgumentException(
                    slot + " has elements of " + ElementType.of(info) + "; " + tensor + " has not");
        }
        final long[] wanted = info.getShape();
        final long[] shape = tensor.shape();
        boolean isMatch = wanted.length == shape.length;
        for (int i = 0; isMatch && i < shape.length; i++) {
            isMatch = wanted[i] < 0 || wanted[i] == shape[i];
        }
        if (!isMatch) {
            throw new IllegalArgumentException(slot + " has " + wanted.length + " dimensions, "
                    + Arrays.toString(wanted) + " with -1 for any length; " + tensor + " has not");
        }
    }

    private void requireOpen() {
        if (handle == 0 || !session.isOpen()) {
            throw new IllegalStateException(
                    "the binding of " + session.name() + " is closed, with the session or by itself");
        }
    }

    private void requireNoGraph() {
        if (graph != null) {
            throw new IllegalStateException("the binding has a captured graph, whose tensors are fixed: replace their"
                    + " elements with copyFrom, or make another binding for other tensors and shapes");
        }
    }

    /**
     * Runs the model, and waits until its outputs are complete.
     *
     * @throws OrtException if ONNX Runtime fails; if an allocation failed, the cause is its exception
     * @throws IllegalStateException if an input is not bound, or no output is; if this or a tensor is closed; if a
     *     graph was captured by another thread
     */
    public synchronized void run() throws OrtException {
        run(null, optionsHandle);
    }

    /**
     * Submits a run of the model to a stream, and does not wait for it: the outputs are complete when the stream's work
     * is. A copy or close of a tensor waits for that by itself. The first launch of a session waits; so does one with
     * an input in memory of the host, or an output that is left to ONNX Runtime, for the launch before.
     *
     * @param stream a stream of {@link InstalledMemory#createStream}, on which the session was opened
     * @return a notification of the end of the run, activated, for other streams or the host to wait for; it is this
     *     binding's, moves with each launch, and is not to be closed
     * @throws OrtException as {@link #run}
     * @throws IllegalStateException as {@link #run}; if the session runs on another stream; if the stream is closed
     * @throws allocator.spi.DeviceException if the driver fails
     */
    public synchronized SyncNotification launch(SyncStream stream) throws OrtException {
        if (stream.hasEnded()) {
            throw new IllegalStateException(stream + " is closed");
        }
        final SyncNotification done = notification(stream);
        switch (session.use(stream)) {
            case ON_IT -> run(stream, launchHandle);
            case UNKNOWN -> run(null, optionsHandle);
            default -> requireStream(stream);
        }
        requireStream(stream);
        synchronized (session) {
            requireOpen();
            done.activate();
        }
        return done;
    }

    private SyncNotification notification(SyncStream stream) {
        synchronized (session) {
            requireOpen();
            final SyncNotification known = notification;
            if (known != null && known.stream().equals(stream)) {
                return known;
            }
            closeNotification();
            final SyncNotification made = stream.createNotification();
            notification = made;
            return made;
        }
    }

    private void requireStream(SyncStream stream) {
        if (session.use(stream) == SessionStreams.Use.ON_OTHERS) {
            throw new IllegalStateException("the session " + session.name() + " does not run on " + stream
                    + ": open it with the CUDA options has_user_compute_stream=1 and user_compute_stream="
                    + stream.handle());
        }
    }

    private void run(@Nullable SyncStream stream, long runOptions) throws OrtException {
        requireComplete();
        if (graph != null && !Thread.currentThread().equals(capturer)) {
            throw new IllegalStateException("the graph of " + session.name() + " was captured by " + capturer
                    + "; ONNX Runtime replays it on that thread only");
        }
        session.begin();
        try {
            requireOpen();
            runBound(stream, runOptions);
        } finally {
            session.end(stream != null);
        }
    }

    /** Runs what is bound, during a run of the session. */
    private void runBound(@Nullable SyncStream stream, long runOptions) throws OrtException {
        int used = 0;
        try {
            for (final Slot slot : slots) {
                final DeviceTensor tensor = slot.tensor;
                if (tensor != null) {
                    use(slot, tensor);
                }
                used++;
            }
            bindAgain();
            launched = stream == null ? launched : stream;
            final long status = api.runWithBinding(ortSession, runOptions, handle);
            hasRun = status == 0;
            if (status != 0) {
                throw session.explain(failure(status));
            }
        } finally {
            for (int i = 0; i < used; i++) {
                final DeviceTensor tensor = slots[i].tensor;
                if (tensor != null) {
                    tensor.usedOn(stream);
                    tensor.endUse();
                }
            }
        }
    }

    private OrtException failure(long status) {
        final OnnxRuntimeException failure = api.failure(Function.RUN_WITH_BINDING, status);
        final String reason = failure.reason();
        return new OrtException(
                failure.code(),
                reason.contains("pre-allocated")
                        ? reason + " Binding.output(name, memory) leaves an output unallocated."
                        : reason);
    }

    private static void use(Slot slot, DeviceTensor tensor) {
        try {
            tensor.beginUse();
        } catch (IllegalStateException e) {
            throw new IllegalStateException(slot + ": " + e.getMessage(), e);
        }
    }

    /**
     * Binds again what ONNX Runtime takes at the binding: the elements of an input of the host that a device uses, and
     * where the last run has put an output that it has allocated.
     */
    private void bindAgain() {
        if (graph != null) {
            return;
        }
        for (final Slot slot : slots) {
            final DeviceTensor tensor = slot.tensor;
            if (tensor == null) {
                awaitLaunch();
                bindToDevice(slot, Objects.requireNonNull(slot.memory));
            } else if (slot.isInput && hasGpu && tensor.block().isOfHost()) {
                awaitLaunch();
                bind(slot, tensor);
            }
        }
    }

    /** Waits for the launches whose copies of inputs and outputs ONNX Runtime frees when something else is bound. */
    private void awaitLaunch() {
        final SyncStream stream = launched;
        if (stream != null && !stream.hasEnded()) {
            stream.flush();
        }
        launched = null;
    }

    private void requireComplete() {
        if (inputs.size() < inputInfo.size() || outputs.isEmpty()) {
            final List<String> missing = inputInfo.keySet().stream()
                    .filter(name -> !inputs.containsKey(name))
                    .toList();
            throw new IllegalStateException(
                    missing.isEmpty()
                            ? "no output of " + session.name() + " is bound; it has " + outputInfo.keySet()
                            : "inputs of " + session.name() + " are not bound: " + missing);
        }
    }

    /**
     * Returns an output that ONNX Runtime has allocated in the last run. Later runs allocate another one. Each call
     * returns a tensor, whose memory is freed when all of them are closed.
     *
     * @param name the output's name
     * @return the tensor, to be closed by the caller; it stays valid when this binding or the session is closed
     * @throws IllegalArgumentException if the output is not left to ONNX Runtime
     * @throws IllegalStateException if this is closed, or the last run failed or was none
     */
    public synchronized DeviceTensor result(String name) {
        synchronized (session) {
            requireOpen();
            final Slot slot = outputs.get(name);
            if (slot == null || slot.memory == null) {
                throw new IllegalArgumentException("output " + name + " is not left to ONNX Runtime; bind it with"
                        + " output(name, memory), or read the tensor that is bound to it");
            }
            if (!hasRun) {
                throw new IllegalStateException("no run of " + session.name() + " has completed");
            }
            final int index = List.copyOf(outputs.keySet()).indexOf(name);
            return takeValues(index, slot.memory);
        }
    }

    /** Returns the tensor of one of the outputs. */
    private DeviceTensor takeValues(int index, InstalledMemory memory) {
        final long arrays = api.create(Function.GET_DEFAULT_ALLOCATOR);
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(ValueLayout.JAVA_LONG, 2);
            api.call(Function.GET_BOUND_OUTPUT_VALUES, handle, arrays, out.address(), out.address() + Long.BYTES);
            final long array = out.getAtIndex(ValueLayout.JAVA_LONG, 0);
            final int count = (int) out.getAtIndex(ValueLayout.JAVA_LONG, 1);
            final MemorySegment values = OrtApi.view(array, (long) count * Long.BYTES);
            try {
                final long value = values.getAtIndex(ValueLayout.JAVA_LONG, index);
                final DeviceTensor tensor = result(value, memory, scratch);
                values.setAtIndex(ValueLayout.JAVA_LONG, index, 0);
                return tensor;
            } finally {
                for (int i = 0; i < count; i++) {
                    api.release(Function.RELEASE_VALUE, values.getAtIndex(ValueLayout.JAVA_LONG, i));
                }
                api.call(Function.ALLOCATOR_FREE, arrays, array);
            }
        }
    }

    private DeviceTensor result(long value, InstalledMemory memory, Arena scratch) {
        final long info = api.create(Function.GET_TENSOR_TYPE_AND_SHAPE, value);
        try {
            final int code = (int) api.create(Function.GET_TENSOR_ELEMENT_TYPE, info);
            final ElementType type = ElementType.of(code);
            if (type == null) {
                throw new IllegalStateException("an output has elements of the unknown type " + code);
            }
            final int rank = (int) api.create(Function.GET_DIMENSIONS_COUNT, info);
            final MemorySegment shape = scratch.allocate(ValueLayout.JAVA_LONG, Math.max(1, rank));
            api.call(Function.GET_DIMENSIONS, info, shape.address(), rank);
            final long[] dimensions = Arrays.copyOf(shape.toArray(ValueLayout.JAVA_LONG), rank);
            final long address = api.create(Function.GET_TENSOR_MUTABLE_DATA, value);
            final TensorBlock block =
                    new TensorBlock(memory, address, () -> api.release(Function.RELEASE_VALUE, value));
            final DeviceTensor tensor = DeviceTensor.of(block, 0, type, dimensions);
            tensor.usedOn(launched);
            return tensor;
        } finally {
            api.release(Function.RELEASE_TENSOR_INFO, info);
        }
    }

    /**
     * Captures the work of a run into a CUDA graph; later runs and launches of this binding replay it, without the cost
     * of launching each kernel. Runs the model up to three times, and waits for other runs of the session. The tensors
     * bound are fixed from then on; {@link DeviceTensor#copyFrom} replaces their elements.
     *
     * <p>What the graph uses of the session's memory stays allocated, and counts against the limits, until this binding
     * is closed: see {@link SessionMemory#bytesCaptured}. Workspaces of cuBLAS and cuDNN are not the session's memory.
     *
     * <p>Open no other session while one captures: CUDA ends a capture when another thread takes device memory from it.
     *
     * @throws OrtException if ONNX Runtime cannot capture the model; nothing stays allocated, and the binding can run
     *     without a graph
     * @throws IllegalStateException as {@link #run}; if a graph was captured, or another run of the session is under
     *     way, or the session fell asleep meanwhile; if the thread is virtual, since ONNX Runtime replays a graph on
     *     the thread that captured it only; if a tensor is not in memory of a GPU, or an output is left to ONNX Runtime
     */
    public synchronized void capture() throws OrtException {
        requireComplete();
        requireNoGraph();
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a virtual thread cannot capture a graph, which ONNX Runtime replays on"
                    + " one thread of the system only; use a platform thread");
        }
        for (final Slot slot : slots) {
            final DeviceTensor tensor = slot.tensor;
            if (tensor == null
                    || tensor.memory().deviceType() != DeviceType.GPU
                    || tensor.block().isOfHost()) {
                throw new IllegalStateException(slot + " must be bound to a tensor in a GPU's own memory before a graph"
                        + " is captured; it is " + (tensor == null ? "left to ONNX Runtime" : "a " + tensor));
            }
        }
        final long ignored = session.wake(); // without its monitor, since others may have to sleep for that
        synchronized (session) {
            requireOpen();
            final List<GraphBlocks> blocks = session.beginCapture();
            try {
                setGraph(session.nextGraph());
                runBound(null, optionsHandle);
                session.endCapture(blocks);
            } catch (Throwable e) {
                session.failCapture(blocks);
                setGraph(NO_GRAPH);
                throw e;
            }
            graph = blocks;
            capturer = Thread.currentThread();
        }
    }

    /** {@return whether runs replay a captured graph} */
    public synchronized boolean isCaptured() {
        return graph != null;
    }

    @Override
    public String toString() {
        return "binding of " + session.name() + ": " + inputs.keySet() + " -> " + outputs.keySet();
    }

    /**
     * Ends the binding, after its launches, and frees what its graph has used. The tensors stay open. A second call
     * does nothing.
     *
     * @throws allocator.spi.DeviceException if the device cannot confirm that a launch is done; this is closed
     *     nevertheless
     */
    @Override
    public synchronized void close() {
        synchronized (session) {
            session.close(this);
        }
    }

    /** Closes this under the session's monitor. Called while no run is under way. */
    void release() {
        if (handle == 0) {
            return;
        }
        try {
            awaitLaunch();
            closeNotification();
        } finally {
            api.release(Function.RELEASE_IO_BINDING, handle);
            handle = 0;
            options.close();
            launchOptions.close();
            names.close();
            final List<GraphBlocks> blocks = graph;
            if (blocks != null) {
                session.release(blocks);
            }
        }
    }

    private void closeNotification() {
        final SyncNotification done = notification;
        if (done != null) {
            notification = null;
            done.close();
        }
    }
}
