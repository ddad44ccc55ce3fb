import org.jspecify.annotations.NullMarked;

/**
 * The part of the CUDA driver API that manages memory.
 *
 * <p>This module and {@code jcuda} make the only native calls; the JVM needs
 * {@code --enable-native-access=jcuda,java.allocator.cuda.driver}.
 */
@NullMarked
module java.allocator.cuda.driver {
    requires java.allocator.provider.support;
    requires jcuda;
    requires static org.jspecify;

    exports allocator.cuda.driver;
}
