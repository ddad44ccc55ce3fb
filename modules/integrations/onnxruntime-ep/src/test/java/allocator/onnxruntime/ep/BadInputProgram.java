package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Does what {@link BadInputTest} asks for, in a process of its own; the exit status says whether it went well. */
public final class BadInputProgram {
    private BadInputProgram() {}

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
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
            case "noLibrary" -> rejected("cannot load its library");
            case "noDirectory" -> rejected("java.io.tmpdir=/nowhere/at/all");
            default -> throw new IllegalArgumentException(args[0]);
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
