package allocator.cuda.arena;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Fills blocks of a GPU with a value, and checks that it stays there. */
final class Worker {
    private static final int STEPS = 400;
    private static final int MAX_BYTES = 1 << 20;

    private Worker() {}

    /** The other JVM of {@link TwoJvmsTest}. */
    public static void main(String[] args) {
        if (!(CudaDrivers.probe() instanceof CudaAvailability.Available(CudaDriver driver))) {
            throw new IllegalStateException(CudaDrivers.probe().toString());
        }
        work(driver, (byte) Integer.parseInt(args[0]));
        System.out.println("kept " + args[0]);
    }

    /** @throws IllegalStateException if memory changes that only this worker writes to */
    static void work(CudaDriver driver, byte value) {
        try (EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final EpDevice device = factory.discoverDevices().devices().getFirst();
            final MemoryInfo memory = device.defaultMemory().orElseThrow();
            final MemoryInfo hostMemory = device.hostAccessibleMemory().orElseThrow();
            final Allocator allocator = factory.createAllocator(memory, AllocatorOptions.EMPTY);
            final Allocator host = factory.createAllocator(hostMemory, AllocatorOptions.EMPTY);
            final long copy = host.alloc(MAX_BYTES);
            final Random random = new Random(value);
            final List<MemoryRange> live = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                if (live.size() < 64) {
                    final long byteSize = 1L + random.nextInt(MAX_BYTES);
                    final long address = allocator.alloc(byteSize);
                    driver.memory().memsetD8(0, address, value, byteSize);
                    live.add(new MemoryRange(memory, address, byteSize));
                } else {
                    final MemoryRange block = live.remove(random.nextInt(live.size()));
                    final MemoryRange read = new MemoryRange(hostMemory, copy, block.byteSize());
                    factory.dataTransfer().orElseThrow().copy(block, read, null);
                    requireFilled(
                            ((HostAccessibleAllocator) host)
                                    .segment(copy, block.byteSize())
                                    .toArray(ValueLayout.JAVA_BYTE),
                            value);
                    allocator.free(block.address());
                }
            }
            live.forEach(block -> allocator.free(block.address()));
            host.free(copy);
            factory.releaseAllocator(host);
            factory.releaseAllocator(allocator);
        }
    }

    private static void requireFilled(byte[] bytes, byte value) {
        for (final byte found : bytes) {
            if (found != value) {
                throw new IllegalStateException("found " + found + " instead of " + value);
            }
        }
    }
}
