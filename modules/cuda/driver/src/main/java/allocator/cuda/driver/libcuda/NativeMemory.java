package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAttach_flags;
import jcuda.driver.JCudaDriver;

/** {@link CudaMemory} of the installed driver. */
record NativeMemory(Contexts contexts) implements CudaMemory {
    private static final int HOST_ALLOC_PORTABLE = 1;

    @Override
    public long memAlloc(int device, long byteSize) {
        final int cell = OutCell.take();
        try {
            final int result;
            if (byteSize <= 0) {
                result = CudaResult.INVALID_VALUE;
            } else {
                final long previous = contexts.enter(device, cell, CudaFunction.MEM_ALLOC);
                final int mode = CaptureMode.enterRelaxed();
                result = LibCuda.call(LibCuda.MEM_ALLOC, OutCell.address(cell), byteSize);
                CaptureMode.leave(mode);
                contexts.leave(device, previous);
            }
            if (result != CudaResult.SUCCESS) {
                throw Results.failure(result, CudaFunction.MEM_ALLOC, "device=%d, byteSize=%d", device, byteSize);
            }
            return OutCell.getLong(cell);
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void memFree(int device, long address) {
        final long previous = contexts.enter(device, CudaFunction.MEM_FREE);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.MEM_FREE, address);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw Results.failure(result, CudaFunction.MEM_FREE, "device=%d, address=%#x", device, address);
        }
    }

    @Override
    public CudaMemoryUsage memGetInfo(int device) {
        final long[] free = new long[1];
        final long[] total = new long[1];
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEM_GET_INFO,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuMemGetInfo(free, total)));
        Results.check(result, CudaFunction.MEM_GET_INFO, "device=%d", device);
        return new CudaMemoryUsage(free[0], total[0]);
    }

    @Override
    public long memAllocManaged(int device, long byteSize) {
        final JCudaPointers.Device pointer = new JCudaPointers.Device(0);
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : contexts.runRelaxed(
                        device,
                        CudaFunction.MEM_ALLOC_MANAGED,
                        cell -> Results.ofJCuda(() -> JCudaDriver.cuMemAllocManaged(
                                pointer, byteSize, CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)));
        Results.check(result, CudaFunction.MEM_ALLOC_MANAGED, "device=%d, byteSize=%d", device, byteSize);
        return pointer.address();
    }

    @Override
    public long memHostAlloc(int device, long byteSize, boolean isPortable) {
        final long[] address = new long[1];
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : contexts.runRelaxed(device, CudaFunction.MEM_HOST_ALLOC, cell -> {
                    final int code = LibCuda.callWithInt(
                            LibCuda.MEM_HOST_ALLOC,
                            OutCell.address(cell),
                            byteSize,
                            isPortable ? HOST_ALLOC_PORTABLE : 0);
                    return OutCell.readLong(code, cell, address);
                });
        Results.check(
                result,
                CudaFunction.MEM_HOST_ALLOC,
                "device=%d, byteSize=%d, isPortable=%b",
                device,
                byteSize,
                isPortable);
        return address[0];
    }

    @Override
    public void memFreeHost(int device, long address) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.MEM_FREE_HOST, cell -> LibCuda.call(LibCuda.MEM_FREE_HOST, address));
        Results.check(result, CudaFunction.MEM_FREE_HOST, "device=%d, address=%#x", device, address);
    }

    @Override
    public void memsetD8(int device, long address, byte value, long byteSize) {
        final CUdeviceptr target = new JCudaPointers.Device(address);
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEMSET_D8,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuMemsetD8(target, value, byteSize)));
        Results.check(
                result,
                CudaFunction.MEMSET_D8,
                "device=%d, address=%#x, value=%d, byteSize=%d",
                device,
                address,
                value,
                byteSize);
    }

    @Override
    public void memsetD8Async(int device, long address, byte value, long byteSize, long stream) {
        final long previous = contexts.enter(device, CudaFunction.MEMSET_D8_ASYNC);
        final int result = LibCuda.callWithByte(LibCuda.MEMSET_D8_ASYNC, address, value, byteSize, stream);
        contexts.leave(device, previous);
        Results.check(
                result,
                CudaFunction.MEMSET_D8_ASYNC,
                "device=%d, address=%#x, value=%d, byteSize=%d, stream=%#x",
                device,
                address,
                value,
                byteSize,
                stream);
    }

    @Override
    public void memcpyHtoD(int device, long target, long source, long byteSize) {
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEMCPY_HTOD,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuMemcpyHtoD(
                        new JCudaPointers.Device(target), new JCudaPointers.Host(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_HTOD, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyHtoDAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = contexts.enter(device, CudaFunction.MEMCPY_HTOD_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_HTOD_ASYNC, target, source, byteSize, stream);
        contexts.leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_HTOD_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoH(int device, long target, long source, long byteSize) {
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEMCPY_DTOH,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuMemcpyDtoH(
                        new JCudaPointers.Host(target), new JCudaPointers.Device(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_DTOH, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoHAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = contexts.enter(device, CudaFunction.MEMCPY_DTOH_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_DTOH_ASYNC, target, source, byteSize, stream);
        contexts.leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_DTOH_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoD(int device, long target, long source, long byteSize) {
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEMCPY_DTOD,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuMemcpyDtoD(
                        new JCudaPointers.Device(target), new JCudaPointers.Device(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_DTOD, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoDAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = contexts.enter(device, CudaFunction.MEMCPY_DTOD_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_DTOD_ASYNC, target, source, byteSize, stream);
        contexts.leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_DTOD_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyPeerAsync(
            int targetDevice, long target, int sourceDevice, long source, long byteSize, long stream) {
        final long sourceContext = contexts.require(sourceDevice, CudaFunction.MEMCPY_PEER_ASYNC);
        final long previous = contexts.enter(targetDevice, CudaFunction.MEMCPY_PEER_ASYNC);
        final int result = LibCuda.call(
                LibCuda.MEMCPY_PEER_ASYNC, target, contexts.of(targetDevice), source, sourceContext, byteSize, stream);
        contexts.leave(targetDevice, previous);
        Results.check(
                result,
                CudaFunction.MEMCPY_PEER_ASYNC,
                "targetDevice=%d, target=%#x, sourceDevice=%d, source=%#x, byteSize=%d, stream=%#x",
                targetDevice,
                target,
                sourceDevice,
                source,
                byteSize,
                stream);
    }

    private static void checkCopy(
            int result, CudaFunction function, int device, long target, long source, long byteSize, long stream) {
        if (result != CudaResult.SUCCESS) {
            throw Results.failure(
                    result,
                    function,
                    "device=%d, target=%#x, source=%#x, byteSize=%d, stream=%#x",
                    device,
                    target,
                    source,
                    byteSize,
                    stream);
        }
    }
}
