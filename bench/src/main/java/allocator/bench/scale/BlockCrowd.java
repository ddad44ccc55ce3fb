package allocator.bench.scale;

import allocator.spi.Allocator;
import java.util.SplittableRandom;

/** Live blocks of 16 B to 8 KiB, the logarithm of their size uniform. */
final class BlockCrowd extends Crowd {
    private static final int LEAST_EXPONENT = 4;
    private static final int MOST_EXPONENT = 13;

    private final Allocator allocator;
    private final boolean isInOrder;
    private final Runnable onShrink;
    private final Runnable onClose;
    private final SplittableRandom random = new SplittableRandom(1);
    private final long[] blocks;
    private int oldest;

    /** @param isInOrder whether the oldest block is replaced each time, rather than any */
    BlockCrowd(Allocator allocator, boolean isInOrder, int most, Runnable onShrink, Runnable onClose) {
        this.allocator = allocator;
        this.isInOrder = isInOrder;
        this.onShrink = onShrink;
        this.onClose = onClose;
        blocks = new long[most];
    }

    private long alloc() {
        return allocator.alloc(
                (long) Math.scalb(1 + random.nextDouble(), random.nextInt(LEAST_EXPONENT, MOST_EXPONENT)));
    }

    @Override
    void add(int index) {
        blocks[index] = alloc();
    }

    @Override
    void comeAndGo() {
        allocator.free(alloc());
    }

    @Override
    void use(int count) {
        if (isInOrder) {
            oldest = oldest + 1 < count ? oldest + 1 : 0;
        }
        final int index = isInOrder ? oldest : random.nextInt(count);
        allocator.free(blocks[index]);
        blocks[index] = alloc();
    }

    @Override
    void remove(int index) {
        allocator.free(blocks[index]);
    }

    @Override
    void shrink() {
        onShrink.run();
    }

    @Override
    public void close() {
        onClose.run();
    }
}
