package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

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

    private final String library;
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
    private final Map<MemoryInfo, Target> prepared = new ConcurrentHashMap<>();

    /** What the provider did not take back. */
    private final FailedReleases rest;

    /** The allocators that ONNX Runtime has, of sessions and of the environment. */
    private final Set<HostedAllocator> allocators = ConcurrentHashMap.newKeySet();

    private volatile boolean isReleased;

    /**
     * A reference to an allocator of the provider, which was asked for its level outside any callback.
     *
     * @param allocator the allocator
     * @param level its level, which is constant (L-01)
     */
    record Target(Allocator allocator, int level) {}

    /**
     * Makes the factory of a provider. Asks the provider for all that a registration needs, so that it fails here: ONNX
     * Runtime 1.29 does not undo a registration that fails half way, and ends the process later.
     *
     * @param library the name of the library
     * @param provider the provider
     * @param options the settings of the environment and the registration
     * @param runsNodes whether it runs nodes in its memory, if the CPU reaches that
     * @param failures where failures of callbacks go
     * @param uses counts what ONNX Runtime has of the library
     * @throws IllegalStateException if the provider returns something that ONNX Runtime cannot be given
     */
    public HostedFactory(
            String library,
            EpFactory provider,
            AllocatorOptions options,
            boolean runsNodes,
            FailureSink failures,
            Uses uses) {
        this.library = library;
        this.provider = provider;
        rest = new FailedReleases(provider);
        this.options = options;
        this.runsNodes = runsNodes;
        this.failures = failures;
        this.uses = uses;
        name = provider.name();
        nameText = texts.allocateFrom(name).address();
        vendorText = texts.allocateFrom(provider.vendor()).address();
        versionText = texts.allocateFrom(semantic(provider.version())).address();
        found = required(provider.discoverDevices(), "discovery").devices();
        transfer = required(provider.dataTransfer(), "answer to whether it copies");
        boolean isPrepared = false;
        try {
            prepare();
            // Last, as it publishes this object to native code.
            struct = FactoryStruct.add(this);
            isPrepared = true;
        } finally {
            if (!isPrepared) {
                returnPrepared();
                // The only other attempt: the caller gets no factory.
                rest.returnAll(new Failures());
            }
        }
    }

    private void prepare() {
        for (final EpDevice device : found) {
            for (final MemoryInfo info : device.memoryInfos()) {
                // ONNX Runtime asks once for a memory that two devices have.
                if (!info.isReadOnly() && !prepared.containsKey(info)) {
                    prepared.put(info, newTarget(info, options));
                }
            }
        }
    }

    /** Returns the references that the environment did not ask for. Never throws what the provider throws. */
    public void returnPrepared() {
        for (final MemoryInfo info : List.copyOf(prepared.keySet())) {
            final Target target = prepared.remove(info);
            if (target != null) {
                try {
                    rest.release(target.allocator());
                } catch (Throwable e) {
                    final String ignored = failures.report("release of " + info, e);
                }
            }
        }
    }

    private <T> T required(@Nullable T value, String what) {
        if (value == null) {
            throw new IllegalStateException("provider " + name + " returned no " + what);
        }
        return value;
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

    /** Returns the name of the library. */
    String library() {
        return library;
    }

    FailedReleases rest() {
        return rest;
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
        return devices.create(this, provider.version(), found, hardware, max);
    }

    /** Makes the {@code OrtAllocator} of an {@code OrtMemoryInfo}, for the environment. */
    long createShared(long ortInfo, Map<String, String> explicit) {
        final DeviceMemory memory = devices.memory(ortInfo);
        final Target ready = explicit.isEmpty() ? prepared.remove(memory.info()) : null;
        final Target target =
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

    private Target newTarget(MemoryInfo info, AllocatorOptions settings) {
        final Allocator target = required(provider.createAllocator(info, settings), "allocator of " + info);
        try {
            final int level = target.spiLevel();
            if (level < SpiLevel.MINIMUM) {
                // ONNX Runtime would call members that the struct does not have.
                throw new IllegalStateException("provider " + name + " created an allocator of " + info + " of level "
                        + level + "; the lowest is " + SpiLevel.MINIMUM);
            }
            return new Target(target, level);
        } catch (Throwable e) {
            throw returnAfter(e, target);
        }
    }

    private long add(DeviceMemory memory, Target target, boolean isOfSession) {
        try {
            final HostedAllocator allocator = new HostedAllocator(this, memory, target, isOfSession);
            allocators.add(allocator);
            return allocator.struct();
        } catch (Throwable e) {
            throw returnAfter(e, target.allocator());
        }
    }

    /** Returns a reference after a failure, and throws that, whatever the provider then throws. */
    private RuntimeException returnAfter(Throwable failure, Allocator target) {
        final Failures all = new Failures();
        all.add(failure);
        all.run(() -> rest.release(target));
        all.throwIfAny();
        return new IllegalStateException(failure);
    }

    /** An allocator is not needed any more, and no block of it is live. */
    void returned(HostedAllocator allocator) {
        try {
            rest.release(allocator.target());
        } finally {
            allocators.remove(allocator);
            if (allocator.isOfSession()) {
                uses.end(Uses.Kind.SESSION_ALLOCATOR);
            }
            forgetIfUnused();
        }
    }

    /** Frees the blocks that the provider did not take back before. A failure is reported. */
    public void freeOwed() {
        allocators.forEach(HostedAllocator::retry);
    }

    /**
     * Returns what the provider did not take back before: references, and streams whose close has failed.
     *
     * @param failed receives what the provider throws; another call tries again
     */
    public void returnRest(Failures failed) {
        forgetIfUnused();
        rest.returnAll(failed);
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
            final SyncStream stream = required(provider.createSyncStream(info), "stream of " + info);
            final long impl = add(stream);
            isCreated = true;
            return impl;
        } finally {
            if (!isCreated) {
                uses.end(Uses.Kind.STREAM);
            }
        }
    }

    private long add(SyncStream stream) {
        try {
            return StreamStruct.add(new HostedStream(this, stream));
        } catch (Throwable e) {
            rest.close(stream);
            throw e;
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
