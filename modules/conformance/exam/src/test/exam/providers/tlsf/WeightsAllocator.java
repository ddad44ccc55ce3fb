package exam.tlsf;

import allocator.spi.AllocatorStats;

/** Serves memory for weights: each block is a span of its own, of exactly its size. */
final class WeightsAllocator extends HostAllocator {
    WeightsAllocator(Settings settings) {
        super(Factory.WEIGHTS, settings, settings.effectiveForWeights());
    }

    @Override
    public int spiLevel() {
        return 23;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        requireOpen();
        requireSize(byteSize);
        return byteSize == 0 ? 0 : takeOwn(byteSize);
    }

    @Override
    void freeInRegion(Block block) {
        throw new AssertionError("weights have no regions");
    }

    @Override
    long largestFree() {
        return 0;
    }

    @Override
    void addOwnStats(AllocatorStats.Builder builder) {
        builder.counter("WeightBlocks", table.size(), AllocatorStats.Unit.COUNT, false);
    }

    @Override
    void giveRegions() {}
}
