package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.provider.support.StreamOwner;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * A GPU for code without a session: its primary context, which is retained until the close, and streams, new ones and
 * views of streams that other code has created. A session has both of its own.
 *
 * <p>Several may be open for one device. Safe for use by several threads.
 */
public final class DeviceRuntime implements AutoCloseable {
    private final CudaDevice device;
    private final Lifecycle lifecycle = new Lifecycle();
    private final Owner owner = new Owner();

    /** Reports the ends of runs and streams to the allocators that were used. */
    private final class Owner implements StreamOwner<CudaSyncStream> {
        @Override
        public boolean isOpen(Allocator allocator) {
            return CudaEpFactory.isInUse(allocator);
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
            device.streams().remove(stream);
        }
    }

    private DeviceRuntime(CudaDevice device) {
        this.device = device;
    }

    /**
     * Retains the primary context of a device.
     *
     * @param driver the driver
     * @param ordinal the device's ordinal
     * @return the device, which the caller closes
     * @throws allocator.spi.DeviceException if there is no such device, or the driver fails
     */
    public static DeviceRuntime open(CudaDriver driver, int ordinal) {
        try {
            final DeviceRuntime runtime =
                    new DeviceRuntime(new CudaDevice(driver, driver.devices().info(ordinal)));
            runtime.device.requireContext();
            return runtime;
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        }
    }

    /**
     * Returns the driver.
     *
     * @return the driver, as given
     */
    public CudaDriver driver() {
        return device.driver();
    }

    /**
     * Returns the device's number.
     *
     * @return the CUDA ordinal
     */
    public int ordinal() {
        return device.ordinal();
    }

    /**
     * Returns the memory that streams are of.
     *
     * @return the device's default memory
     */
    public MemoryInfo memory() {
        return device.defaultMemory();
    }

    /**
     * Creates a stream that does not wait for the legacy default stream.
     *
     * @return a new stream, which the caller closes
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws IllegalStateException if this is closed
     */
    public SyncStream openStream() {
        return whileOpen(() -> CudaSyncStream.create(device, owner));
    }

    /**
     * Makes a stream that other code has created usable here, as {@link allocator.spi.EpFactory#viewSyncStream} does.
     * One stream has one view at a time in this object.
     *
     * @param handle a {@code CUstream} of the device's primary context, {@code 0} for its legacy default stream
     * @return the view, which the caller closes; the close does not destroy the stream
     * @throws IllegalArgumentException if it is no such stream, as far as the driver reports it
     * @throws IllegalStateException if a view of it is open, or it was made here, or this is closed
     * @throws allocator.spi.DeviceException if the driver fails
     */
    public SyncStream viewStream(long handle) {
        return whileOpen(() -> CudaSyncStream.view(device, owner, handle));
    }

    private SyncStream whileOpen(Supplier<SyncStream> maker) {
        if (!lifecycle.tryEnter()) {
            throw new IllegalStateException(this + " is closed");
        }
        try {
            return maker.get();
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            lifecycle.exit();
        }
    }

    /**
     * Releases the context, once nothing needs it: streams of this object keep it open, other users of the context are
     * the caller's to end first. A second close does what is left, or nothing.
     *
     * @throws IllegalStateException if streams are open; this stays open
     * @throws allocator.spi.DeviceException if the driver fails; this is closed all the same
     */
    @Override
    public void close() {
        lifecycle.beginClose();
        boolean isClosed = false;
        try {
            final int open = device.streams().count();
            if (open > 0) {
                throw new IllegalStateException(open + " streams of " + this + " are open; close them first");
            }
            isClosed = true;
            final DriverCalls.All calls = new DriverCalls.All();
            device.release(calls);
            calls.throwIfFailed();
        } finally {
            lifecycle.endClose(isClosed);
        }
    }

    @Override
    public String toString() {
        return "the runtime of " + device;
    }
}
