package allocator.simulation.structure;

import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import allocator.testkit.FakeDevice;
import java.util.BitSet;

/** A device of a few blocks, which hands out the lowest free one: what is freed comes again at once. */
final class ReusingDevice implements Allocator {
    static final int BLOCK = 256;

    private final int capacity;
    private final BitSet out = new BitSet();

    /**
     * Creates a device.
     *
     * @param capacity the number of blocks
     */
    ReusingDevice(int capacity) {
        this.capacity = capacity;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        final int block = out.nextClearBit(1);
        if (block > capacity) {
            throw new OutOfMemoryException("no block is free", Shortage.ofDevice(FakeDevice.INFO, byteSize, 0));
        }
        out.set(block);
        return (long) block * BLOCK;
    }

    @Override
    public synchronized void free(long address) {
        out.clear((int) (address / BLOCK));
    }

    @Override
    public MemoryInfo info() {
        return FakeDevice.INFO;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.MINIMUM;
    }
}
