package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.IntSupplier;

/** Does what {@link BadInputTest} asks for, in a process of its own; the exit status says whether it went well. */
public final class BadInputProgram {
    private BadInputProgram() {}

    public static void main(String[] args) throws Throwable {
        for (final String what : args) {
            run(what);
        }
    }

    private static void run(String what) throws Throwable {
        switch (what) {
            case "leftOpen" -> use();
            case "exit" -> {
                use();
                System.exit(0);
            }
            case "halt" -> {
                use();
                Runtime.getRuntime().halt(0);
            }
            case "environmentClosedFirst" -> environmentClosedFirst();
            case "unregisteredWhileASessionLives" -> unregisteredWhileASessionLives();
            case "threads" -> threads();
            case "fileReplaced" -> fileReplaced();
            case "registeredManyTimes" -> registeredManyTimes();
            case "nodeThatThrows" -> nodeThatThrows();
            case "freeAfterRelease" -> freeAfterRelease();
            case "levelThatThrows" ->
                level(() -> {
                    throw new IllegalStateException("broken on purpose");
                });
            case "levelBelowTheLowest" -> {
                level(() -> 0);
                level(() -> -1);
            }
            case "heapEnds" -> heapEnds();
            case "noLibrary" -> rejected("cannot load its library");
            case "noDirectory" -> rejected("java.io.tmpdir=/nowhere/at/all");
            default -> throw new IllegalArgumentException(what);
        }
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static PluginLibrary register() {
        return PluginLibrary.on(OrtEnvironment.getEnvironment())
                .provider(new HostProvider())
                .runNodes()
                .register();
    }

    private static OrtSession open(PluginLibrary library) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.addConfigEntry("session.disable_cpu_ep_fallback", "1");
            options.addExecutionProvider(library.devices(), Map.of());
            return OrtEnvironment.getEnvironment().createSession(ArithmeticModel.bytes(), options);
        }
    }

    private static int[] use() throws OrtException {
        return ArithmeticModel.run(open(register()), 4, 1);
    }

    /** The Java environment is closed; registration, session and close go on. */
    private static void environmentClosedFirst() throws OrtException {
        final PluginLibrary library = register();
        final OrtSession session = open(library);
        OrtEnvironment.getEnvironment().close();
        require(ArithmeticModel.run(session, 4, 1).length == 12, "the session runs");
        session.close();
        library.close();
    }

    /** Java rejects it; through ONNX Runtime it happens, and the session's callbacks still find their objects. */
    private static void unregisteredWhileASessionLives() throws OrtException {
        final PluginLibrary library = register();
        final OrtSession session = open(library);
        final int[] expected = ArithmeticModel.run(session, 4, 1);
        OrtEnvironment.getEnvironment().unregisterExecutionProviderLibrary(library.name());
        require(java.util.Arrays.equals(expected, ArithmeticModel.run(session, 4, 1)), "the session runs");
        try {
            library.close();
            require(false, "the close must be rejected");
        } catch (IllegalStateException e) {
            require(e.getMessage().contains("1 open session"), e.getMessage());
        }
        session.close();
        library.close();
    }

    /** Nodes run on ONNX Runtime's own threads, which end with the session. */
    private static void threads() throws OrtException {
        try (PluginLibrary library = register()) {
            for (int i = 0; i < 20; i++) {
                try (SessionOptions options = new SessionOptions()) {
                    options.setExecutionMode(SessionOptions.ExecutionMode.PARALLEL);
                    options.setInterOpNumThreads(4);
                    options.addExecutionProvider(library.devices(), Map.of());
                    try (OrtSession session =
                            OrtEnvironment.getEnvironment().createSession(ArithmeticModel.bytes(), options)) {
                        require(ArithmeticModel.run(session, 4, 1).length == 12, "the session runs");
                    }
                }
            }
        }
    }

    /** The file is gone once the library is registered; a new one in its place is nobody's. */
    private static void fileReplaced() throws Exception {
        System.setProperty(
                "java.io.tmpdir", Files.createTempDirectory("bad-input").toString());
        final Path path;
        try (PluginLibrary library = register();
                OrtSession session = open(library)) {
            path = Path.of(library.devices().getFirst().getEpMetadata().getOrDefault("library_path", "not named"));
            require(Files.notExists(path), "the file is removed: " + path);
            Files.createDirectories(path.getParent());
            Files.writeString(path, "something else");
            require(ArithmeticModel.run(session, 4, 1).length == 12, "the session runs");
        }
        require(Files.readString(path).equals("something else"), "a file that is not ours stays");
        Files.delete(path);
        Files.delete(path.getParent());
        Files.delete(path.getParent().getParent());
    }

    private static void registeredManyTimes() throws OrtException {
        for (int i = 0; i < 200; i++) {
            try (PluginLibrary library = register()) {
                if (i % 50 == 0) {
                    try (OrtSession session = open(library)) {
                        require(ArithmeticModel.run(session, 4, 1).length == 12, "the session runs");
                    }
                }
            }
        }
    }

    /** Shapes that do not fit end a run with an exception, and the session runs on. */
    private static void nodeThatThrows() throws OrtException {
        try (PluginLibrary library = register();
                OrtSession session = open(library)) {
            try {
                ArithmeticModel.runMisfit(session);
                require(false, "the run must fail");
            } catch (OrtException e) {
                require(
                        library.explained(e).getCause() instanceof IllegalArgumentException,
                        "the cause of " + e + " is " + e.getCause());
            }
            require(ArithmeticModel.run(session, 4, 1).length == 12, "the session runs");
        }
    }

    /** A block outlives its allocator: its memory stays until it is freed. */
    private static void freeAfterRelease() {
        final HostProvider provider = new HostProvider();
        final PluginLibrary library = PluginLibrary.register(OrtEnvironment.getEnvironment(), provider);
        final long device = NativeOrt.device(HostProvider.NAME);
        final long allocator = NativeOrt.sharedAllocator(NativeOrt.memoryInfo(device, NativeOrt.DEFAULT));
        final long free = NativeOrt.member(allocator, OrtAllocatorLayout.FREE);
        final long block = NativeOrt.alloc(allocator, 1000);
        NativeOrt.releaseSharedAllocator(device, NativeOrt.DEFAULT);
        require(provider.references() == 1, "the memory stays: " + provider.references());
        require(NativeOrt.member(allocator, OrtAllocatorLayout.FREE) == free, "the struct stays");
        NativeOrt.callMember(allocator, OrtAllocatorLayout.FREE, block);
        require(provider.references() == 0, "the memory goes: " + provider.references());
        library.close();
        provider.close();
    }

    /** A registration that ONNX Runtime has begun and cannot end leaves devices that it has freed. */
    private static void level(IntSupplier level) throws OrtException {
        final FakeFactory provider = FakeFactory.gpu("fake-gpu")
                .returned(allocator -> new FakeAllocator.Full(allocator.info()) {
                    @Override
                    public int spiLevel() {
                        return level.getAsInt();
                    }
                });
        try (PluginLibrary library = PluginLibrary.register(OrtEnvironment.getEnvironment(), provider)) {
            require(false, library.name() + " must be rejected");
        } catch (IllegalStateException e) {
            require(
                    String.valueOf(e.getMessage()).matches("broken on purpose|.* of level (0|-1); the lowest is 1"),
                    e.toString());
        }
        require(provider.references() == 0, "references: " + provider.references());
        require(
                OrtEnvironment.getEnvironment().getEpDevices().stream()
                        .noneMatch(device -> device.getEpName().equals("fake-gpu")),
                "no device is left");
    }

    /** A callback that fails returns a status, however often, also if there is no heap to describe the failure. */
    @SuppressWarnings("restricted")
    private static void heapEnds() throws Throwable {
        final PluginLibrary library = register();
        final long allocator =
                NativeOrt.sharedAllocator(NativeOrt.memoryInfo(NativeOrt.device(HostProvider.NAME), NativeOrt.DEFAULT));
        final long out = NativeOrt.alloc(allocator, 64); // which is no allocator, so a call on it fails
        final MethodHandle call = Linker.nativeLinker()
                .downcallHandle(
                        MemorySegment.ofAddress(NativeOrt.member(allocator, OrtAllocatorLayout.GET_STATS)),
                        FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        final long[] statuses = new long[40];
        for (int i = 0; i < 20; i++) {
            // Links and compiles the call, which needs heap until then.
            callAgainAndAgain(call, out, statuses);
            release(statuses);
        }
        final Object[] heap = new Object[1];
        for (int length = 1 << 20; length > 0; length /= 2) {
            fill(heap, length);
        }
        callAgainAndAgain(call, out, statuses);
        heap[0] = null; // which needs no heap
        release(statuses);
        NativeOrt.free(allocator, out);
        library.close();
    }

    private static void callAgainAndAgain(MethodHandle call, long out, long[] statuses) throws Throwable {
        for (int i = 0; i < statuses.length; i++) {
            statuses[i] = (long) call.invokeExact(out, out);
        }
    }

    private static void release(long[] statuses) {
        for (final long status : statuses) {
            require(status != 0, "a failed callback returned no status");
            NativeOrt.api().release(OrtApi.Function.RELEASE_STATUS, status);
        }
    }

    /** Adds objects of a size to a list until there is no heap for more. */
    private static void fill(Object[] list, int length) {
        try {
            while (true) {
                final Object[] more = new Object[length];
                more[0] = list[0];
                list[0] = more;
            }
        } catch (OutOfMemoryError e) {
            // There is none.
        }
    }

    private static void rejected(String reason) {
        try {
            if (Boolean.getBoolean("without.directory")) {
                OnnxRuntimeLibrary.version(); // the binding itself needs a directory for its libraries
                System.setProperty("java.io.tmpdir", "/nowhere/at/all");
            }
            try (PluginLibrary library = register()) {
                require(false, library.name() + " must be rejected");
            }
        } catch (OnnxRuntimeException e) {
            require(String.valueOf(e.getMessage()).contains(reason), String.valueOf(e.getMessage()));
        } catch (LinkageError e) {
            require(reason.contains("library"), e.toString()); // thrown by the binding's own class
        }
    }
}
