package allocator.cuda.driver.libcuda;

import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUmemoryPool;
import jcuda.driver.CUstream;

/**
 * JCuda's pointer types with access to the number in them, which JCuda gives to subclasses only. Device and host
 * pointers can be made from a number; the handle types cannot, so calls that take a handle do not go through JCuda.
 */
final class JCudaPointers {
    private JCudaPointers() {}

    static final class Device extends CUdeviceptr {
        Device(long address) {
            super(new CUdeviceptr(), address);
        }

        long address() {
            return getNativePointer() + getByteOffset();
        }
    }

    static final class Host extends Pointer {
        Host(long address) {
            super(address);
        }
    }

    static final class Context extends CUcontext {
        long handle() {
            return getNativePointer();
        }
    }

    static final class Pool extends CUmemoryPool {
        long handle() {
            return getNativePointer();
        }
    }

    static final class Stream extends CUstream {
        long handle() {
            return getNativePointer();
        }
    }

    static final class Event extends CUevent {
        long handle() {
            return getNativePointer();
        }
    }
}
