package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.IdentityModel;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * ONNX Runtime's environment, of which a process has one, and its registrations of allocators, one for each memory.
 *
 * <p>A session that sets {@code session.use_env_allocators} uses, for all its life, the allocator that is registered
 * when the session is created. So each session can get an allocator of its own: it is registered while that session is
 * created. Registrations here exclude one another and restore the installed allocator afterwards.
 */
final class NativeEnvironment {
    /** The memory that ONNX Runtime's CPU provider uses, as our contract describes it. */
    static final MemoryInfo CPU = new MemoryInfo(
            OrtMemory.CPU.name(),
            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
            OrtMemory.CPU.alignment(),
            AllocatorType.DEVICE);

    /** ONNX Runtime's key: with {@code 1} a session takes the environment's allocators instead of making its own. */
    static final String USE_ENV_ALLOCATORS = "session.use_env_allocators";

    private final OrtApi api;
    private final long handle;
    private final long deviceInfo;
    private final long arenaInfo;

    /** The {@code OrtMemoryInfo} of each memory that an allocator was registered for. Guarded by itself. */
    private final Map<OrtMemory, Long> infos = new HashMap<>();

    private boolean isInstalled;
    private long installed;

    private NativeEnvironment(OrtApi api) {
        this.api = api;
        handle = EnvironmentReference.handle();
        deviceInfo = memoryInfo(OrtMemory.CPU);
        arenaInfo = createMemoryInfo(OrtMemory.CPU, OrtApi.ARENA_ALLOCATOR);
    }

    /** Returns the {@code OrtMemoryInfo} of a memory, for allocators other than ONNX Runtime's arenas. Never freed. */
    final long memoryInfo(OrtMemory memory) {
        synchronized (infos) {
            final Long known = infos.get(memory);
            if (known != null) {
                return known;
            }
            final long made = createMemoryInfo(memory, OrtApi.DEVICE_ALLOCATOR);
            infos.put(memory, made);
            return made;
        }
    }

    private long createMemoryInfo(OrtMemory memory, int allocatorType) {
        try (Arena scratch = Arena.ofConfined()) {
            return api.create(
                    Function.CREATE_MEMORY_INFO,
                    scratch.allocateFrom(memory.name()).address(),
                    allocatorType,
                    memory.ordinal(),
                    memory.type());
        }
    }

    private static final class Holder {
        static final NativeEnvironment ENVIRONMENT = new NativeEnvironment(OnnxRuntimeLibrary.api());
    }

    /**
     * Returns the environment of this process.
     *
     * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
     */
    static NativeEnvironment get() {
        OnnxRuntimeLibrary.api();
        return Holder.ENVIRONMENT;
    }

    OrtApi api() {
        return api;
    }

    /** Something that makes a session. */
    interface Work<T, E extends Exception> {
        T run() throws E;
    }

    /** Runs {@code work} while new sessions get the given allocators, each of another memory. */
    synchronized <T, E extends Exception> T whileRegistered(List<ExportedAllocator> allocators, Work<T, E> work)
            throws E {
        return whileRegistered(allocators, 0, work);
    }

    private <T, E extends Exception> T whileRegistered(List<ExportedAllocator> allocators, int from, Work<T, E> work)
            throws E {
        if (from == allocators.size()) {
            return work.run();
        }
        final ExportedAllocator allocator = allocators.get(from);
        api.call(Function.REGISTER_ALLOCATOR, handle, allocator.struct());
        return registered(memoryInfo(allocator.memory()), () -> whileRegistered(allocators, from + 1, work));
    }

    private synchronized <T> T whileArenaRegistered(long arenaConfig, Work<T, RuntimeException> work) {
        api.call(Function.CREATE_AND_REGISTER_ALLOCATOR, handle, arenaInfo, arenaConfig);
        return registered(deviceInfo, work);
    }

    private <T, E extends Exception> T registered(long memoryInfo, Work<T, E> work) throws E {
        try {
            return work.run();
        } finally {
            try {
                api.call(Function.UNREGISTER_ALLOCATOR, handle, memoryInfo);
            } finally {
                if (installed != 0 && memoryInfo == deviceInfo) {
                    api.call(Function.REGISTER_ALLOCATOR, handle, installed);
                }
            }
        }
    }

    /**
     * Begins the one installation of the process.
     *
     * @throws IllegalStateException if there is one
     */
    synchronized void beginInstallation() {
        if (isInstalled) {
            throw new IllegalStateException(
                    "an allocator is installed on the environment already; close that installation first");
        }
        isInstalled = true;
    }

    /** Ends the installation. */
    synchronized void endInstallation() {
        isInstalled = false;
    }

    /** Makes {@code allocator}, of CPU memory, what new sessions get, until {@link #uninstall}. Does so once. */
    synchronized void install(long allocator) {
        if (installed == allocator) {
            return;
        }
        api.call(Function.REGISTER_ALLOCATOR, handle, allocator);
        installed = allocator;
    }

    /** Undoes {@link #install}. Sessions that were made in between keep the allocator. */
    synchronized void uninstall(long allocator) {
        if (installed == allocator) {
            api.call(Function.UNREGISTER_ALLOCATOR, handle, deviceInfo);
            installed = 0;
        }
    }

    /** A session of the smallest model, which takes no memory, and an allocator of it. */
    static final class SessionAllocator {
        private long session;
        private long allocator;

        private SessionAllocator(long session, long allocator) {
            this.session = session;
            this.allocator = allocator;
        }

        /** Returns the allocator, 0 once it is released. */
        long allocator() {
            return allocator;
        }
    }

    /** Creates an arena of ONNX Runtime's with the given settings; a session of its own keeps it alive. */
    SessionAllocator createArena(ArenaSettings settings) {
        final long config = createArenaConfig(settings);
        try {
            return whileArenaRegistered(config, () -> createSession(true));
        } finally {
            api.release(Function.RELEASE_ARENA_CFG, config);
        }
    }

    /** Makes a session without settings and takes the arena that it has made for itself. */
    SessionAllocator createSessionAllocator() {
        return createSession(false);
    }

    /** The allocator that the environment shares: the registered one, or a plain one that is never freed. */
    long sharedAllocator() {
        return api.create(Function.GET_SHARED_ALLOCATOR, handle, deviceInfo);
    }

    /** Releases the allocator and its session, or what an earlier call left of them. By one thread at a time. */
    void release(SessionAllocator held) {
        api.release(Function.RELEASE_ALLOCATOR, held.allocator);
        held.allocator = 0;
        api.release(Function.RELEASE_SESSION, held.session);
        held.session = 0;
    }

    private SessionAllocator createSession(boolean useEnvironmentAllocators) {
        final long options = api.create(Function.CREATE_SESSION_OPTIONS);
        try (Arena scratch = Arena.ofConfined()) {
            if (useEnvironmentAllocators) {
                api.call(
                        Function.ADD_SESSION_CONFIG_ENTRY,
                        options,
                        scratch.allocateFrom(USE_ENV_ALLOCATORS).address(),
                        scratch.allocateFrom("1").address());
            }
            final byte[] model = IdentityModel.bytes();
            final MemorySegment bytes = scratch.allocate(model.length);
            MemorySegment.copy(MemorySegment.ofArray(model), 0, bytes, 0, model.length);
            final long session =
                    api.create(Function.CREATE_SESSION_FROM_ARRAY, handle, bytes.address(), model.length, options);
            try {
                return new SessionAllocator(session, api.create(Function.CREATE_ALLOCATOR, session, arenaInfo));
            } catch (Throwable e) {
                api.release(Function.RELEASE_SESSION, session);
                throw e;
            }
        } finally {
            api.release(Function.RELEASE_SESSION_OPTIONS, options);
        }
    }

    private long createArenaConfig(ArenaSettings settings) {
        final var pairs = settings.toCreateArenaCfgV2();
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment keys = scratch.allocate(JAVA_LONG, Math.max(1, pairs.size()));
            final MemorySegment values = scratch.allocate(JAVA_LONG, Math.max(1, pairs.size()));
            int i = 0;
            for (final var pair : pairs.entrySet()) {
                keys.setAtIndex(
                        JAVA_LONG, i, scratch.allocateFrom(pair.getKey()).address());
                values.setAtIndex(JAVA_LONG, i, pair.getValue());
                i++;
            }
            return api.create(Function.CREATE_ARENA_CFG_V2, keys.address(), values.address(), pairs.size());
        }
    }
}
