import org.jspecify.annotations.NullMarked;

/**
 * JCuda 12.6, the Java binding of CUDA's driver and runtime interfaces, as one explicit module with the two native
 * libraries that it needs.
 *
 * <p>The classes are the published ones but for {@code LibUtils} and {@code LibUtilsCuda}, which find the libraries:
 * here they copy a library to a directory that only its owner can read, load it and delete the copy. Whoever calls a
 * CUDA function must start the JVM with {@code --enable-native-access=jcuda}.
 */
@NullMarked
module jcuda {
    requires static org.jspecify;

    exports jcuda;
    exports jcuda.driver;
    exports jcuda.runtime;
}
