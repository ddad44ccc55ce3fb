import org.jspecify.annotations.NullMarked;

/**
 * JCuda 12.6, the Java binding of CUDA's driver and runtime interfaces, as one explicit module with the two native
 * libraries that it needs.
 *
 * <p>The classes are the published ones except {@code LibUtils} and {@code LibUtilsCuda}, which load the libraries:
 * they copy a library to a directory that only its owner can access, load it and delete the copy; and
 * {@link jcuda.driver.JCudaHandles}, which makes streams and pointers from numbers. The JVM needs
 * {@code --enable-native-access=jcuda}.
 */
@NullMarked
module jcuda {
    requires static org.jspecify;

    exports jcuda;
    exports jcuda.driver;
    exports jcuda.runtime;
}
