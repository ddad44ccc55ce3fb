package allocator.cuda.memory;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.StreamOwner;
import allocator.provider.support.internal.Endings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A GPU as one user serves it: a factory, or code without a session that {@linkplain #open opens} it. It has the GPU's
 * memories, and makes streams.
 *
 * <p>All users of a device of one driver object share its primary context and the list of its open streams. The context
 * is retained when something first needs it and stays until the last user is closed, as making one takes tenths of a
 * second. Devices differ in their ordinal alone: two cards of one model differ in nothing else that a
 * {@link MemoryInfo} knows.
 *
 * <p>Safe for use by several threads.
 */
public final class CudaDevice implements AutoCloseable {
    /** NVIDIA, as a PCI vendor. */
    static final int VENDOR_ID = 0x10DE;

    private final CudaDriver driver;
    private final CudaDeviceInfo info;
    private final MemoryInfo defaultMemory;
    private final MemoryInfo pinnedMemory;
    private final MemoryInfo readOnlyMemory;
    private final Endings endings = new Endings();
    private final StreamOwner<CudaSyncStream> streamOwner = new Streams();
    private final StreamChecks checks;
    private final Lifecycle lifecycle = new Lifecycle();
    private final boolean isOfFactory;
    private final Object contextLock = new Object();
    private volatile @Nullable DeviceContext context;

    /** Reports the ends of runs and streams to the allocators that were used, whichever provider made them. */
    private final class Streams implements StreamOwner<CudaSyncStream> {
        @Override
        public boolean isOpen(Allocator allocator) {
            return allocator instanceof CudaAllocator user && !user.isClosed();
        }

        @Override
        public void runEnded(CudaSyncStream stream) {
            forEachOpen(stream, CudaAllocator::endRun);
        }

        @Override
        public void workEnded(CudaSyncStream stream) {
            forEachOpen(stream, CudaAllocator::releaseStream);
        }

        private static void forEachOpen(CudaSyncStream stream, BiConsumer<CudaAllocator, SyncStream> call) {
            final DriverCalls.All calls = new DriverCalls.All();
            for (CudaAllocator user : stream.users()) {
                calls.attempt(() -> {
                    try {
                        call.accept(user, stream);
                    } catch (AllocatorClosedException e) {
                        CudaLog.debug("{0} has ended before {1}", user, stream);
                    }
                });
            }
            calls.throwIfFailed();
        }

        @Override
        public void closed(CudaSyncStream stream) {
            streams().remove(stream);
        }
    }

    /** A device of a factory, which releases it. */
    CudaDevice(CudaDriver driver, CudaDeviceInfo info) {
        this(driver, info, true);
    }

    private CudaDevice(CudaDriver driver, CudaDeviceInfo info, boolean isOfFactory) {
        this.isOfFactory = isOfFactory;
        this.driver = driver;
        this.info = info;
        checks = StreamChecks.of(driver);
        final MemoryLocation onDevice = location(info.ordinal(), MemoryType.DEFAULT);
        final MemoryLocation pinned = location(info.ordinal(), MemoryType.HOST_ACCESSIBLE);
        final long alignment = OptionKey.SIZE_GRANULARITY;
        defaultMemory = new MemoryInfo("Cuda", onDevice, alignment, AllocatorType.DEVICE);
        pinnedMemory = new MemoryInfo("CudaPinned", pinned, alignment, AllocatorType.DEVICE);
        readOnlyMemory = new MemoryInfo("CudaReadOnly", onDevice, alignment, AllocatorType.READ_ONLY);
    }

    /**
     * {@return a device for code without a session, which the caller closes; its primary context is retained}
     *
     * @param driver the driver
     * @param ordinal the device's ordinal
     * @throws DeviceException if there is no such device, or the driver fails
     */
    public static CudaDevice open(CudaDriver driver, int ordinal) {
        try {
            final int count = driver.devices().count();
            if (ordinal < 0 || ordinal >= count) {
                throw new DeviceException(
                        "there is no gpu:" + ordinal + "; the CUDA driver lists " + count + " devices, numbered from 0",
                        null);
            }
            final CudaDevice device = new CudaDevice(driver, driver.devices().info(ordinal), false);
            device.requireContext();
            return device;
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        }
    }

    private static MemoryLocation location(int ordinal, MemoryType memoryType) {
        return new MemoryLocation(DeviceType.GPU, VENDOR_ID, ordinal, memoryType);
    }

    /** {@return the driver that serves this device} */
    public CudaDriver driver() {
        return driver;
    }

    /** {@return the device's CUDA ordinal} */
    public int ordinal() {
        return info.ordinal();
    }

    /** {@return what the driver reports of the device: name, memory and abilities} */
    public CudaDeviceInfo info() {
        return info;
    }

    /** {@return the info of device memory, named {@code Cuda}} */
    public MemoryInfo defaultMemory() {
        return defaultMemory;
    }

    /** {@return the info of page-locked host memory, named {@code CudaPinned}} */
    public MemoryInfo pinnedMemory() {
        return pinnedMemory;
    }

    /** {@return the info of device memory for data that is written once, named {@code CudaReadOnly}} */
    public MemoryInfo readOnlyMemory() {
        return readOnlyMemory;
    }

    /** The ends of what was created on this device, of which some may have failed. */
    Endings endings() {
        return endings;
    }

    /**
     * {@return a new stream, which the caller closes and which does not wait for the legacy default stream}
     *
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if this is closed
     */
    public SyncStream openStream() {
        return whileOpen(() -> CudaSyncStream.create(this));
    }

    /**
     * Makes a stream that other code has created usable here, as {@link allocator.spi.EpFactory#viewSyncStream} does.
     * One stream has one view at a time in this object.
     *
     * @param handle a {@code CUstream} of the device's primary context, {@code 0} for its legacy default stream
     * @return the view, which the caller closes; the close does not destroy the stream
     * @throws IllegalArgumentException if it is no such stream, as far as the driver reports it
     * @throws IllegalStateException if a view of it is open, or it was made here, or this is closed
     * @throws DeviceException if the driver fails
     */
    public SyncStream viewStream(long handle) {
        return whileOpen(() -> CudaSyncStream.view(this, handle));
    }

    private SyncStream whileOpen(Supplier<SyncStream> maker) {
        if (!lifecycle.tryEnter()) {
            throw new IllegalStateException(this + " is closed");
        }
        try {
            requireContext();
            return maker.get();
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            lifecycle.exit();
        }
    }

    /** Receives the ends of this object's streams. */
    StreamOwner<CudaSyncStream> streamOwner() {
        return streamOwner;
    }

    /** The open streams of all users of this device, which has a context. */
    DeviceStreams streams() {
        final DeviceContext shared = context;
        if (shared == null) {
            throw new IllegalStateException(this + " has no context");
        }
        return shared.streams();
    }

    /** {@return how many streams of this object are open, views included} */
    public int openStreams() {
        final DeviceContext shared = context;
        return shared == null ? 0 : shared.streams().count(this);
    }

    /**
     * Waits for all work of the device, unless a stream of any of its users is being captured: the wait would
     * invalidate the capture.
     *
     * @param call the name of the call
     * @throws allocator.spi.StreamCaptureException if one is
     * @throws CudaException if the driver fails
     */
    public void synchronize(String call) {
        streams().requireNoneCaptured(call);
        driver.devices().ctxSynchronize(ordinal());
        checks.hostWaited();
    }

    /**
     * Waits for a stream of the driver that is no {@link CudaSyncStream}.
     *
     * @throws CudaException if the driver fails
     */
    void synchronizeStream(long handle) {
        driver.streams().streamSynchronize(ordinal(), handle);
        checks.hostWaited();
    }

    /** The checks of the uses of memory on the driver's streams. */
    StreamChecks checks() {
        return checks;
    }

    EpDevice describe() {
        final HardwareDevice hardware = new HardwareDevice(
                DeviceType.GPU,
                VENDOR_ID,
                0,
                info.name(),
                Map.of(
                        "compute capability",
                        info.computeCapability() / 10 + "." + info.computeCapability() % 10,
                        "driver",
                        "CUDA " + driver.devices().driverVersion() / 1000 + "."
                                + driver.devices().driverVersion() % 1000 / 10,
                        "memory",
                        (info.totalByteSize() >> 20) + " MiB",
                        "ordinal",
                        Integer.toString(ordinal()),
                        "PCI bus",
                        info.pciBusId(),
                        "UUID",
                        info.uuid().toString()));
        return EpDevice.on(hardware)
                .memory(defaultMemory)
                .memory(pinnedMemory)
                .memory(readOnlyMemory)
                .build();
    }

    /**
     * Makes sure that the device can be worked with.
     *
     * @throws CudaException if the driver refuses
     */
    void requireContext() {
        if (context == null) {
            synchronized (contextLock) {
                if (context == null) {
                    context = DeviceContext.join(driver, ordinal());
                }
            }
        }
    }

    /**
     * Gives back what the driver did not take back before, then the context, if there is one. What fails stays, and
     * another call tries again.
     *
     * @param calls collects the failures
     */
    void release(DriverCalls.All calls) {
        if (!calls.attempt(endings::runAgain)) {
            return;
        }
        synchronized (contextLock) {
            final DeviceContext shared = context;
            if (shared != null && calls.insist(shared::leave)) {
                context = null;
            }
        }
    }

    /**
     * Releases the context. Streams of this object keep it open; the caller ends other uses of its memory first. A
     * second close tries again where the first one failed, and otherwise does nothing.
     *
     * @throws IllegalStateException if streams are open, or this is the device of a factory, which closes it; this
     *     stays open
     * @throws DeviceException if the driver fails; this is closed
     */
    @Override
    public void close() {
        if (isOfFactory) {
            throw new IllegalStateException(this + " is closed by its factory");
        }
        lifecycle.beginClose();
        boolean isClosed = false;
        try {
            final int open = openStreams();
            if (open > 0) {
                throw new IllegalStateException(open + " streams of " + this + " are open; close them first");
            }
            isClosed = true;
            final DriverCalls.All calls = new DriverCalls.All();
            release(calls);
            calls.throwIfFailed();
        } finally {
            lifecycle.endClose(isClosed);
        }
    }

    @Override
    public String toString() {
        return info.name() + " (gpu:" + ordinal() + ")";
    }
}
