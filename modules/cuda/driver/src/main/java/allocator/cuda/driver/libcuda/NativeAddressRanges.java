package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;

/** {@link CudaAddressRanges} of the installed driver. */
record NativeAddressRanges(Contexts contexts, CudaDevices devices) implements CudaAddressRanges {
    @Override
    public long memGetAllocationGranularity(int device) {
        final long[] granularity = new long[1];
        final int result = contexts.runRelaxed(device, CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, cell -> {
            if (!devices.info(device).hasVirtualMemory()) {
                return CudaResult.NOT_SUPPORTED;
            }
            Structures.writeProperties(cell, device);
            final int code = LibCuda.callWithInt(
                    LibCuda.MEM_GET_ALLOCATION_GRANULARITY,
                    OutCell.address(cell),
                    OutCell.address(cell) + OutCell.STRUCTURE,
                    0);
            return OutCell.readLong(code, cell, granularity);
        });
        Results.check(result, CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, "device=%d", device);
        return granularity[0];
    }

    @Override
    public long memAddressReserve(int device, long byteSize) {
        final JCudaPointers.Device range = new JCudaPointers.Device(0);
        final CUdeviceptr anywhere = new CUdeviceptr();
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : contexts.runRelaxed(
                        device,
                        CudaFunction.MEM_ADDRESS_RESERVE,
                        cell -> Results.ofJCuda(
                                () -> JCudaDriver.cuMemAddressReserve(range, byteSize, 0, anywhere, 0)));
        Results.check(result, CudaFunction.MEM_ADDRESS_RESERVE, "device=%d, byteSize=%d", device, byteSize);
        return range.address();
    }

    @Override
    public void memAddressFree(int device, long address, long byteSize) {
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.MEM_ADDRESS_FREE,
                cell -> Results.ofJCuda(
                        () -> JCudaDriver.cuMemAddressFree(new JCudaPointers.Device(address), byteSize)));
        Results.check(
                result,
                CudaFunction.MEM_ADDRESS_FREE,
                "device=%d, address=%#x, byteSize=%d",
                device,
                address,
                byteSize);
    }

    @Override
    public long memCreate(int device, long byteSize) {
        final long[] handle = new long[1];
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : contexts.runRelaxed(device, CudaFunction.MEM_CREATE, cell -> {
                    Structures.writeProperties(cell, device);
                    final int code = LibCuda.call(
                            LibCuda.MEM_CREATE,
                            OutCell.address(cell),
                            byteSize,
                            OutCell.address(cell) + OutCell.STRUCTURE,
                            0L);
                    return OutCell.readLong(code, cell, handle);
                });
        Results.check(result, CudaFunction.MEM_CREATE, "device=%d, byteSize=%d", device, byteSize);
        return handle[0];
    }

    @Override
    public void memRelease(int device, long handle) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.MEM_RELEASE, cell -> LibCuda.call(LibCuda.MEM_RELEASE, handle));
        Results.check(result, CudaFunction.MEM_RELEASE, "device=%d, handle=%#x", device, handle);
    }

    @Override
    public void memMap(int device, long address, long byteSize, long handle) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.MEM_MAP, cell -> LibCuda.call(LibCuda.MEM_MAP, address, byteSize, 0L, handle, 0L));
        Results.check(
                result,
                CudaFunction.MEM_MAP,
                "device=%d, address=%#x, byteSize=%d, handle=%#x",
                device,
                address,
                byteSize,
                handle);
    }

    @Override
    public void memUnmap(int device, long address, long byteSize) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.MEM_UNMAP, cell -> LibCuda.call(LibCuda.MEM_UNMAP, address, byteSize));
        Results.check(result, CudaFunction.MEM_UNMAP, "device=%d, address=%#x, byteSize=%d", device, address, byteSize);
    }

    @Override
    public void memSetAccess(int device, long address, long byteSize, MemoryAccess access) {
        final int result = contexts.runRelaxed(device, CudaFunction.MEM_SET_ACCESS, cell -> {
            Structures.writeAccess(cell, device, access);
            return LibCuda.call(
                    LibCuda.MEM_SET_ACCESS, address, byteSize, OutCell.address(cell) + OutCell.STRUCTURE, 1L);
        });
        Results.check(
                result,
                CudaFunction.MEM_SET_ACCESS,
                "device=%d, address=%#x, byteSize=%d, access=%s",
                device,
                address,
                byteSize,
                access);
    }
}
