import org.jspecify.annotations.NullMarked;

/**
 * A simulated CUDA device behind the interface of the driver, for tests of code that uses CUDA memory on machines
 * without a GPU.
 *
 * <p>Streams can lag, memory can run out, calls can be made to fail, and misuse that a GPU leaves undefined is
 * detected. Pinned and managed memory need {@code --enable-native-access=java.allocator.cuda.simulated}.
 */
@NullMarked
module java.allocator.cuda.simulated {
    requires transitive java.allocator.cuda.driver;
    requires static org.jspecify;

    exports allocator.cuda.simulated;
}
