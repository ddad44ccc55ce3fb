import org.jspecify.annotations.NullMarked;

/**
 * A simulated CUDA device behind the interface of the driver, for tests of code that uses CUDA memory on machines
 * without a GPU.
 *
 * <p>Streams can lag, memory can run out, calls can be made to fail, and misuse that a GPU leaves undefined is
 * detected. Pinned and managed memory need {@code --enable-native-access=java.allocator.cuda.simulated}.
 *
 * <p>For test paths. Nothing here is chosen by itself: a test makes a
 * {@link allocator.cuda.simulated.SimulatedCudaDriver} and asks it for a provider, or puts it in the driver's place.
 *
 * @uses allocator.spi.EpFactory the providers that a test asks for by name
 */
@NullMarked
module java.allocator.cuda.simulated {
    requires transitive java.allocator.cuda.driver;
    requires transitive java.allocator.spi;
    requires java.allocator.provider.support;
    requires static org.jspecify;

    exports allocator.cuda.simulated;

    uses allocator.spi.EpFactory;
}
