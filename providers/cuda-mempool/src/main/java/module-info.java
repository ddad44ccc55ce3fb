import org.jspecify.annotations.NullMarked;

/**
 * The provider of CUDA memory from the driver's stream-ordered pools.
 *
 * @provides allocator.spi.EpFactory the provider {@code cuda-mempool}
 */
@NullMarked
module java.allocator.cuda.mempool {
    requires java.allocator.cuda.memory;
    requires static org.jspecify;

    provides allocator.spi.EpFactory with
            allocator.cuda.mempool.CudaMempoolFactory;
}
