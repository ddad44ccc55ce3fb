package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemLocation;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.CUmemPoolProps;
import jcuda.driver.JCudaDriver;

/** {@link CudaPools} of the installed driver. */
record NativePools(Contexts contexts, CudaDevices devices) implements CudaPools {
    @Override
    public long memPoolCreate(int device) {
        final CUmemPoolProps properties = new CUmemPoolProps();
        properties.allocType = CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = new CUmemLocation(CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, device);
        final JCudaPointers.Pool pool = new JCudaPointers.Pool();
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEM_POOL_CREATE,
                cell -> devices.info(device).hasMemoryPools()
                        ? Results.ofJCuda(() -> JCudaDriver.cuMemPoolCreate(pool, properties))
                        : CudaResult.NOT_SUPPORTED);
        Results.check(result, CudaFunction.MEM_POOL_CREATE, "device=%d", device);
        return pool.handle();
    }

    @Override
    public void memPoolDestroy(int device, long pool) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.MEM_POOL_DESTROY, cell -> LibCuda.call(LibCuda.MEM_POOL_DESTROY, pool));
        Results.check(result, CudaFunction.MEM_POOL_DESTROY, "device=%d, pool=%#x", device, pool);
    }

    @Override
    public long deviceGetDefaultMemPool(int device) {
        final long[] pool = new long[1];
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL,
                cell -> devices.info(device).hasMemoryPools()
                        ? OutCell.readLong(
                                LibCuda.callWithInt(LibCuda.DEVICE_GET_DEFAULT_MEM_POOL, OutCell.address(cell), device),
                                cell,
                                pool)
                        : CudaResult.NOT_SUPPORTED);
        Results.check(result, CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL, "device=%d", device);
        return pool[0];
    }

    @Override
    public long memPoolGetAttribute(int device, long pool, PoolAttribute attribute) {
        final long[] value = new long[1];
        final int result = contexts.runRelaxed(device, CudaFunction.MEM_POOL_GET_ATTRIBUTE, cell -> {
            final int code =
                    LibCuda.callWithInt(LibCuda.MEM_POOL_GET_ATTRIBUTE, pool, attribute.code(), OutCell.address(cell));
            if (code == CudaResult.SUCCESS) {
                value[0] = attribute.isByteSize() ? OutCell.getLong(cell) : OutCell.getInt(cell);
            }
            return code;
        });
        Results.check(
                result,
                CudaFunction.MEM_POOL_GET_ATTRIBUTE,
                "device=%d, pool=%#x, attribute=%s",
                device,
                pool,
                attribute);
        return value[0];
    }

    @Override
    public void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value) {
        final int result = contexts.runRelaxed(device, CudaFunction.MEM_POOL_SET_ATTRIBUTE, cell -> {
            OutCell.setLong(cell, value);
            return LibCuda.callWithInt(LibCuda.MEM_POOL_SET_ATTRIBUTE, pool, attribute.code(), OutCell.address(cell));
        });
        Results.check(
                result,
                CudaFunction.MEM_POOL_SET_ATTRIBUTE,
                "device=%d, pool=%#x, attribute=%s, value=%d",
                device,
                pool,
                attribute,
                value);
    }

    @Override
    public void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access) {
        final int result = contexts.runRelaxed(device, CudaFunction.MEM_POOL_SET_ACCESS, cell -> {
            Structures.writeAccess(cell, accessingDevice, access);
            return LibCuda.call(LibCuda.MEM_POOL_SET_ACCESS, pool, OutCell.address(cell) + OutCell.STRUCTURE, 1L);
        });
        Results.check(
                result,
                CudaFunction.MEM_POOL_SET_ACCESS,
                "device=%d, pool=%#x, accessingDevice=%d, access=%s",
                device,
                pool,
                accessingDevice,
                access);
    }

    @Override
    public void memPoolTrimTo(int device, long pool, long minBytesToKeep) {
        final int result = minBytesToKeep < 0
                ? CudaResult.INVALID_VALUE
                : contexts.runRelaxed(
                        device,
                        CudaFunction.MEM_POOL_TRIM_TO,
                        cell -> LibCuda.call(LibCuda.MEM_POOL_TRIM_TO, pool, minBytesToKeep));
        Results.check(
                result,
                CudaFunction.MEM_POOL_TRIM_TO,
                "device=%d, pool=%#x, minBytesToKeep=%d",
                device,
                pool,
                minBytesToKeep);
    }

    @Override
    public long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream) {
        final int cell = OutCell.take();
        try {
            final int result;
            if (byteSize <= 0) {
                result = CudaResult.INVALID_VALUE;
            } else {
                final long previous = contexts.enter(device, cell, CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC);
                final int mode = CaptureMode.enterRelaxed();
                result = LibCuda.call(LibCuda.MEM_ALLOC_FROM_POOL_ASYNC, OutCell.address(cell), byteSize, pool, stream);
                CaptureMode.leave(mode);
                contexts.leave(device, previous);
            }
            if (result != CudaResult.SUCCESS) {
                throw Results.failure(
                        result,
                        CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                        "device=%d, pool=%#x, byteSize=%d, stream=%#x",
                        device,
                        pool,
                        byteSize,
                        stream);
            }
            return OutCell.getLong(cell);
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void memFreeAsync(int device, long address, long stream) {
        final long previous = contexts.enter(device, CudaFunction.MEM_FREE_ASYNC);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.MEM_FREE_ASYNC, address, stream);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw Results.failure(
                    result, CudaFunction.MEM_FREE_ASYNC, "device=%d, address=%#x, stream=%#x", device, address, stream);
        }
    }
}
