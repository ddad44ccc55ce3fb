import org.jspecify.annotations.NullMarked;

/**
 * A simulated CUDA device, behind the interface of the real driver: for tests of code that uses CUDA memory, on
 * machines without a GPU.
 *
 * <p>Streams run late, capacity ends, calls fail on demand, and misuse that a GPU would leave undefined is detected.
 */
@NullMarked
module java.allocator.cuda.simulated {
    requires transitive java.allocator.cuda.driver;
    requires static org.jspecify;

    exports allocator.cuda.simulated;
}
