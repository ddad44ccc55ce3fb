import org.jspecify.annotations.NullMarked;

/**
 * The provider of CUDA memory in arenas: for each GPU one of device memory, which is stream-aware, and one of pinned
 * memory, which is not.
 *
 * @provides allocator.spi.EpFactory the provider {@code cuda-arena}
 */
@NullMarked
module java.allocator.cuda.arena {
    requires java.allocator.arena;
    requires java.allocator.cuda.memory;
    requires static org.jspecify;

    provides allocator.spi.EpFactory with
            allocator.cuda.arena.CudaArenaFactory;
}
