package jcuda.driver;

import jcuda.runtime.cudaStream_t;

/**
 * JCuda's streams and device pointers from the numbers that they are in CUDA's C API, and back. JCuda's own classes
 * show these numbers to subclasses only.
 *
 * <p>Nothing is checked or owned: the caller that created a stream destroys it, and the caller that allocated memory
 * frees it.
 */
public final class JCudaHandles {
    private JCudaHandles() {}

    /** A copy of a stream that shows its number. */
    private static final class Stream extends CUstream {
        Stream(CUstream stream) {
            super(new cudaStream_t(stream));
        }

        long handle() {
            return getNativePointer();
        }
    }

    /** A copy of a pointer that shows its number. */
    private static final class Address extends CUdeviceptr {
        Address(CUdeviceptr pointer) {
            super(pointer);
        }

        long address() {
            return getNativePointer() + getByteOffset();
        }
    }

    /**
     * {@return a stream as JCuda's calls take it}
     *
     * @param handle the address of {@code CUstream} in C, such as {@code SyncStream.handle()}; {@code 0} for the legacy
     *     default stream
     */
    public static CUstream stream(long handle) {
        return new CUstream(handle);
    }

    /**
     * {@return a device pointer as JCuda's calls take it}
     *
     * @param address the address of device memory, such as a block's
     */
    public static CUdeviceptr pointer(long address) {
        return new CUdeviceptr(new CUdeviceptr(), address);
    }

    /**
     * {@return the address of a stream in C, for {@code Session.viewStream}}
     *
     * @param stream the stream
     */
    public static long handle(CUstream stream) {
        return new Stream(stream).handle();
    }

    /**
     * {@return the address that a device pointer has, its offset included}
     *
     * @param pointer the pointer
     */
    public static long address(CUdeviceptr pointer) {
        return new Address(pointer).address();
    }
}
