import org.jspecify.annotations.NullMarked;

/**
 * The CUDA driver interface as far as memory needs it.
 *
 * <p>This module and {@code jcuda} make the only native calls; the JVM needs
 * {@code --enable-native-access=jcuda,java.allocator.cuda.driver}.
 */
@NullMarked
module java.allocator.cuda.driver {
    requires jcuda;
    requires static org.jspecify;

    exports allocator.cuda.driver;
}
