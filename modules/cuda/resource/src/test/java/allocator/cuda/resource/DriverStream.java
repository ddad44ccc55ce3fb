package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.testkit.FakeStream;

/** A stream of a driver. Its handle, flush and close are the driver's; it has no notifications. */
class DriverStream extends FakeStream {
    DriverStream(CudaDriver driver, MemoryInfo memory) {
        super(memory);
        final long stream = driver.streams().streamCreate(0);
        handle(stream);
        before(operation -> {
            switch (operation) {
                case "flush" -> driver.streams().streamSynchronize(0, stream);
                case "close" -> {
                    driver.streams().streamSynchronize(0, stream);
                    driver.streams().streamDestroy(0, stream);
                }
                default -> {}
            }
        });
    }

    @Override
    public SyncNotification createNotification() {
        throw new UnsupportedOperationException();
    }
}
