package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceException;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * A provider as ONNX Runtime sees it, for one registration. The provider stays its owner's.
 *
 * <p>Settings of an allocator, the stronger ones last: those of the environment, of the registration, of the session or
 * of the call that creates the allocator.
 */
public final class HostedFactory implements Hosted {
    /** The format of Semantic Versioning 2.0: three numbers, a pre-release and a build. */
    private static final Pattern SEMANTIC_VERSION = Pattern.compile(
            "(0|[1-9]\\d{0,8})(\\.(0|[1-9]\\d{0,8})){2}(-[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?(\\+[0-9A-Za-z.-]+)?");

    private static final String NO_VERSION = "0.0.0";

    private final EpFactory provider;
    private final AllocatorOptions options;
    private final boolean runsNodes;
    private final FailureSink failures;
    private final Uses uses;
    private final HostedDevices devices = new HostedDevices();

    /** The C strings; freed when nothing refers to this object any more. */
    private final Arena texts = Arena.ofAuto();

    private final String name;
    private final long nameText;
    private final long vendorText;
    private final long versionText;
    private final long struct;

    private final List<EpDevice> found;
    private final Optional<DataTransfer> transfer;

    /** The allocators that the environment is about to ask for, by their memory. */
    private final Map<MemoryInfo, Allocator> prepared = new ConcurrentHashMap<>();

    /** Allocators whose reference the provider did not take back. Guarded by itself. */
    private final List<Allocator> unreturned = new ArrayList<>();

    /** The allocators that ONNX Runtime has, of sessions and of the environment. */
    private final Set<HostedAllocator> allocators = ConcurrentHashMap.newKeySet();

    private volatile boolean isReleased;

    /**
     * Makes the factory of a provider. Asks the provider for all that a registration needs, so that it fails here: ONNX
     * Runtime 1.29 does not undo a registration that fails half way, and ends the process later.
     *
     * @param provider the provider
     * @param options the settings of the environment and the registration
     * @param runsNodes whether it runs nodes in its memory, if the CPU reaches that
     * @param failures where failures of callbacks go
     * @param uses counts what ONNX Runtime has of the library
     */
    public HostedFactory(
            EpFactory provider, AllocatorOptions options, boolean runsNodes, FailureSink failures, Uses uses) {
        this.provider = provider;
        this.options = options;
        this.runsNodes = runsNodes;
        this.failures = failures;
        this.uses = uses;
        name = provider.name();
        nameText = texts.allocateFrom(name).address();
        vendorText = texts.allocateFrom(provider.vendor()).address();
        versionText = texts.allocateFrom(semantic(provider.version())).address();
        found = provider.discoverDevices().devices();
        transfer = provider.dataTransfer();
        boolean isPrepared = false;
        try {
            prepare();
            // Last, as it publishes this object to native code.
            struct = FactoryStruct.add(this);
            isPrepared = true;
        } finally {
            if (!isPrepared) {
                returnPrepared();
            }
        }
    }

    private void prepare() {
        for (final EpDevice device : found) {
            for (final MemoryInfo info : device.memoryInfos()) {
                if (!info.isReadOnly()) {
                    prepared.put(info, newTarget(info, options));
                }
            }
        }
    }

    /** Returns the references that the environment did not ask for. */
    public void returnPrepared() {
        for (final MemoryInfo info : List.copyOf(prepared.keySet())) {
            final Allocator target = prepared.remove(info);
            if (target != null) {
                try {
                    returnReference(target);
                } catch (RuntimeException | Error e) {
                    final String ignored = failures.report("release of " + info, e);
                }
            }
        }
    }

    /** ONNX Runtime rejects any other version; the metadata of a device has the provider's own. */
    private static String semantic(String version) {
        return SEMANTIC_VERSION.matcher(version).matches() ? version : NO_VERSION;
    }

    @Override
    public FailureSink failures() {
        return failures;
    }

    /** Returns the address of the {@code OrtEpFactory}. */
    public long struct() {
        return struct;
    }

    /** Returns the provider's name. */
    public String name() {
        return name;
    }

    long nameText() {
        return nameText;
    }

    long vendorText() {
        return vendorText;
    }

    long versionText() {
        return versionText;
    }

    Uses uses() {
        return uses;
    }

    HostedDevices devices() {
        return devices;
    }

    boolean runsNodes() {
        return runsNodes;
    }

    /** Returns the vendor of the first device, 0 if it has none. */
    int vendorId() {
        return found.stream()
                .findFirst()
                .map(device -> device.hardware().vendorId())
                .orElse(0);
    }

    /** Makes the {@code OrtEpDevice}s. */
    List<Long> createDevices(List<Long> hardware, long max) {
        return devices.create(struct, provider.version(), found, hardware, max);
    }

    /** Makes the {@code OrtAllocator} of an {@code OrtMemoryInfo}, for the environment. */
    long createShared(long ortInfo, Map<String, String> explicit) {
        final DeviceMemory memory = devices.memory(ortInfo);
        final Allocator ready = explicit.isEmpty() ? prepared.remove(memory.info()) : null;
        final Allocator target =
                ready == null ? newTarget(memory.info(), options.overriddenBy(AllocatorOptions.of(explicit))) : ready;
        return add(memory, target, false);
    }

    /** Makes the {@code OrtAllocator} of an {@code OrtMemoryInfo}, for a session. */
    long createForSession(long ortInfo, AllocatorOptions sessionOptions) {
        uses.begin(Uses.Kind.SESSION_ALLOCATOR);
        boolean isCreated = false;
        try {
            final DeviceMemory memory = devices.memory(ortInfo);
            final long allocator = add(memory, newTarget(memory.info(), options.overriddenBy(sessionOptions)), true);
            isCreated = true;
            return allocator;
        } finally {
            if (!isCreated) {
                uses.end(Uses.Kind.SESSION_ALLOCATOR);
            }
        }
    }

    private Allocator newTarget(MemoryInfo info, AllocatorOptions settings) {
        final Allocator target = provider.createAllocator(info, settings);
        if (target == null) {
            throw new IllegalStateException("provider " + name + " created no allocator of " + info);
        }
        return target;
    }

    private long add(DeviceMemory memory, Allocator target, boolean isOfSession) {
        try {
            final HostedAllocator allocator = new HostedAllocator(this, memory, target, isOfSession);
            allocators.add(allocator);
            return allocator.struct();
        } catch (Throwable e) {
            returnReference(target);
            throw e;
        }
    }

    /** An allocator is not needed any more, and no block of it is live. */
    void returned(HostedAllocator allocator) {
        try {
            returnReference(allocator.target());
        } finally {
            allocators.remove(allocator);
            if (allocator.isOfSession()) {
                uses.end(Uses.Kind.SESSION_ALLOCATOR);
            }
            forgetIfUnused();
        }
    }

    /** Returns a reference. One that the provider did not take back is recorded, and returned at the close. */
    private void returnReference(Allocator target) {
        try {
            provider.releaseAllocator(target);
        } catch (DeviceException | UnknownAllocatorException e) {
            throw e; // By the contract the provider has it.
        } catch (Throwable e) {
            synchronized (unreturned) {
                unreturned.add(target);
            }
            throw e;
        }
    }

    /**
     * Returns the references that the provider did not take back before.
     *
     * @throws RuntimeException what the provider threw; another call tries again
     */
    public void returnRest() {
        synchronized (unreturned) {
            while (!unreturned.isEmpty()) {
                provider.releaseAllocator(unreturned.getLast());
                unreturned.removeLast();
            }
        }
    }

    /** Checks the settings of a session. */
    AllocatorOptions sessionOptions(Map<String, String> entries) {
        final String prefix = "ep." + name.toLowerCase(Locale.ROOT) + ".";
        final Map<String, String> own = new TreeMap<>();
        entries.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                own.put(key.substring(prefix.length()), value);
            }
        });
        final AllocatorOptions session = AllocatorOptions.of(own, "session");
        session.requireValid(provider.optionKeys());
        return session;
    }

    Optional<DataTransfer> dataTransfer() {
        return transfer;
    }

    boolean isStreamAware() {
        return found.stream().flatMap(device -> device.defaultMemory().stream()).anyMatch(provider::isStreamAware);
    }

    /** Makes the {@code OrtSyncStreamImpl} of an {@code OrtMemoryDevice}; 0 if its memory has no streams. */
    long createStream(long device) {
        final MemoryInfo info = devices.infoOf(device);
        if (!provider.isStreamAware(info)) {
            return 0;
        }
        uses.begin(Uses.Kind.STREAM);
        boolean isCreated = false;
        try {
            final SyncStream stream = provider.createSyncStream(info);
            final long impl = StreamStruct.add(new HostedStream(this, stream));
            isCreated = true;
            return impl;
        } finally {
            if (!isCreated) {
                uses.end(Uses.Kind.STREAM);
            }
        }
    }

    /** Returns whether ONNX Runtime has released the factory. */
    public boolean isReleased() {
        return isReleased;
    }

    /**
     * ONNX Runtime has released the factory. What sessions still have of it stays usable; the struct stays until the
     * last one is closed.
     */
    public void release() {
        isReleased = true;
        forgetIfUnused();
    }

    /** Removes the struct once ONNX Runtime has nothing of the factory any more. */
    void forgetIfUnused() {
        if (isReleased && allocators.isEmpty() && uses.obstacle() == null && FactoryStruct.remove(struct)) {
            devices.release();
        }
    }

    /** Reads the entries of an {@code OrtKeyValuePairs}, which stays the caller's. */
    static Map<String, String> entries(long pairs) {
        return EpApi.get().ort().readPairs(pairs);
    }
}
