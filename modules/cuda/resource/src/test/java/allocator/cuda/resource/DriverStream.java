package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** A stream of a driver, with as much of the contract as resources use. */
final class DriverStream extends SyncStream {
    private final CudaDriver driver;
    private final long handle;

    DriverStream(CudaDriver driver, MemoryInfo memory) {
        super(memory);
        this.driver = driver;
        this.handle = driver.streams().streamCreate(0);
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public SyncNotification createNotification() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {
        driver.streams().streamSynchronize(0, handle);
    }

    @Override
    public void onSessionRunEnd() {
        flush();
    }

    @Override
    public void close() {
        flush();
        driver.streams().streamDestroy(0, handle);
    }
}
