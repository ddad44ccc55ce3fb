package allocator.cuda.memory;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.internal.Endings;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import java.util.Map;

/**
 * A GPU as one factory serves it: its memories, and its primary context.
 *
 * <p>The context is retained when something first needs it and stays until the factory is closed, as making one takes
 * tenths of a second. Devices differ in their ordinal alone: two cards of one model differ in nothing else that a
 * {@link MemoryInfo} knows.
 */
public final class CudaDevice {
    /** NVIDIA, as a PCI vendor. */
    static final int VENDOR_ID = 0x10DE;

    private final CudaDriver driver;
    private final CudaDeviceInfo info;
    private final MemoryInfo defaultMemory;
    private final MemoryInfo pinnedMemory;
    private final MemoryInfo readOnlyMemory;
    private final Endings endings = new Endings();
    private final DeviceStreams streams = new DeviceStreams();
    private final StreamChecks checks;
    private final Object contextLock = new Object();
    private volatile boolean hasContext;

    CudaDevice(CudaDriver driver, CudaDeviceInfo info) {
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

    private static MemoryLocation location(int ordinal, MemoryType memoryType) {
        return new MemoryLocation(DeviceType.GPU, VENDOR_ID, ordinal, memoryType);
    }

    /**
     * The driver.
     *
     * @return the driver that serves this device
     */
    public CudaDriver driver() {
        return driver;
    }

    /**
     * The device's number.
     *
     * @return the CUDA ordinal
     */
    public int ordinal() {
        return info.ordinal();
    }

    /**
     * What the driver tells of the device.
     *
     * @return name, memory and abilities
     */
    public CudaDeviceInfo info() {
        return info;
    }

    /**
     * Device memory.
     *
     * @return the info named {@code Cuda}
     */
    public MemoryInfo defaultMemory() {
        return defaultMemory;
    }

    /**
     * Page-locked host memory.
     *
     * @return the info named {@code CudaPinned}
     */
    public MemoryInfo pinnedMemory() {
        return pinnedMemory;
    }

    /**
     * Device memory for data that is written once.
     *
     * @return the info named {@code CudaReadOnly}
     */
    public MemoryInfo readOnlyMemory() {
        return readOnlyMemory;
    }

    /** The ends of what was created on this device, of which some may have failed. */
    Endings endings() {
        return endings;
    }

    /** The open streams of this device. */
    DeviceStreams streams() {
        return streams;
    }

    /**
     * Waits for all work of the device, unless one of its {@link #streams} is being captured: the wait would invalidate
     * the capture.
     *
     * @param call the name of the call
     * @throws allocator.spi.StreamCaptureException if one is
     * @throws CudaException if the driver fails
     */
    void synchronize(String call) {
        streams.requireNoneCaptured(call);
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
        if (!hasContext) {
            synchronized (contextLock) {
                if (!hasContext) {
                    driver.devices().primaryContextRetain(ordinal());
                    hasContext = true;
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
            if (hasContext) {
                hasContext = !calls.insist(() -> driver.devices().primaryContextRelease(ordinal()));
            }
        }
    }

    @Override
    public String toString() {
        return info.name() + " (gpu:" + ordinal() + ")";
    }
}
