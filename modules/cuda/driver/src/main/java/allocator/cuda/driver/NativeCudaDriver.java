package allocator.cuda.driver;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLongArray;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemAttach_flags;
import jcuda.driver.CUmemLocation;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.CUmemPoolProps;
import jcuda.driver.CUstream_flags;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;

/**
 * The driver of this machine.
 *
 * <p>JCuda makes the calls whose arguments are numbers and addresses. {@link LibCuda} makes those that JCuda lacks
 * ({@code cuMemPoolSetAttribute} and its kin) or does wrongly ({@code cuMemCreate}, {@code cuMemSetAccess}, pinned
 * memory of 2 GiB and more), those that take a handle, which JCuda cannot make from a number, and those that must not
 * create objects.
 *
 * <p>The current context belongs to the operating system's thread, and a virtual thread changes that thread between any
 * two calls, but not within {@link #enter} and the call that follows: nothing there can block in Java. So each call
 * asks the driver which context is current, and replaces it for the call if it is another device's or library's. Where
 * there was none, the context stays current, and the next call on that thread has one thing less to do.
 *
 * <p>Results of a call are read only when it succeeded.
 */
final class NativeCudaDriver implements CudaDriver, CudaDevices, CudaMemory, CudaPools, CudaAddressRanges, CudaStreams {
    private static final int MAX_NAME = 256;
    private static final int MAX_PCI_BUS_ID = 32;
    private static final int HOST_ALLOC_PORTABLE = 1;
    private static final int PROPERTIES_LOCATION_TYPE = OutCell.STRUCTURE + 8;
    private static final int PROPERTIES_LOCATION_ID = OutCell.STRUCTURE + 12;
    private static final int ACCESS_LOCATION_ID = OutCell.STRUCTURE + 4;
    private static final int ACCESS_FLAGS = OutCell.STRUCTURE + 8;

    private final int driverVersion;
    private final CUdevice[] devices;
    private final CudaDeviceInfo[] infos;

    /** The primary context of each device, 0 while it is not retained. Written with {@link #retained}. */
    private final AtomicLongArray contexts;

    /** How often each primary context is retained through this driver; guarded by itself. */
    private final int[] retained;

    /**
     * Initializes the driver.
     *
     * @param driverVersion the version that the library reported
     * @throws CudaException if a call fails, for instance because the process sees no device
     */
    NativeCudaDriver(int driverVersion) {
        this.driverVersion = driverVersion;
        check(jcuda(() -> JCudaDriver.cuInit(0)), CudaFunction.INIT, "0");
        final int[] count = new int[1];
        check(jcuda(() -> JCudaDriver.cuDeviceGetCount(count)), CudaFunction.DEVICE_GET_COUNT, "");
        devices = new CUdevice[count[0]];
        infos = new CudaDeviceInfo[count[0]];
        for (int device = 0; device < devices.length; device++) {
            devices[device] = deviceGet(device);
            infos[device] = readInfo(device);
        }
        contexts = new AtomicLongArray(devices.length);
        retained = new int[devices.length];
    }

    // Rooms

    @Override
    public CudaDevices devices() {
        return this;
    }

    @Override
    public CudaMemory memory() {
        return this;
    }

    @Override
    public CudaPools pools() {
        return this;
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return this;
    }

    @Override
    public CudaStreams streams() {
        return this;
    }

    // Devices

    @Override
    public int driverVersion() {
        return driverVersion;
    }

    @Override
    public int count() {
        return devices.length;
    }

    @Override
    public CudaDeviceInfo info(int device) {
        requireDevice(device, CudaFunction.DEVICE_GET);
        return infos[device];
    }

    @Override
    public void primaryContextRetain(int device) {
        requireDevice(device, CudaFunction.DEVICE_PRIMARY_CTX_RETAIN);
        synchronized (retained) {
            final JCudaPointers.Context context = new JCudaPointers.Context();
            check(
                    jcuda(() -> JCudaDriver.cuDevicePrimaryCtxRetain(context, devices[device])),
                    CudaFunction.DEVICE_PRIMARY_CTX_RETAIN,
                    "device=%d",
                    device);
            retained[device]++;
            contexts.set(device, context.handle());
        }
    }

    @Override
    public void primaryContextRelease(int device) {
        requireDevice(device, CudaFunction.DEVICE_PRIMARY_CTX_RELEASE);
        synchronized (retained) {
            final int current =
                    retained[device] == 0 ? CudaResult.INVALID_CONTEXT : isLast(device) ? forgetCurrent(device) : 0;
            check(current, CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, "device=%d", device);
            check(
                    jcuda(() -> JCudaDriver.cuDevicePrimaryCtxRelease(devices[device])),
                    CudaFunction.DEVICE_PRIMARY_CTX_RELEASE,
                    "device=%d",
                    device);
            if (--retained[device] == 0) {
                contexts.set(device, 0);
            }
        }
    }

    private boolean isLast(int device) {
        return retained[device] == 1;
    }

    /** So that the calling thread is not left with a destroyed context. */
    private int forgetCurrent(int device) {
        final int cell = OutCell.take();
        try {
            final int result = LibCuda.call(LibCuda.CTX_GET_CURRENT, OutCell.address(cell));
            return result == CudaResult.SUCCESS && OutCell.getLong(cell) == contexts.get(device)
                    ? LibCuda.call(LibCuda.CTX_SET_CURRENT, 0L)
                    : result;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void ctxSynchronize(int device) {
        final long previous = enter(device, CudaFunction.CTX_SYNCHRONIZE);
        final int result = jcuda(JCudaDriver::cuCtxSynchronize);
        leave(device, previous);
        check(result, CudaFunction.CTX_SYNCHRONIZE, "device=%d", device);
    }

    private static CUdevice deviceGet(int device) {
        final CUdevice handle = new CUdevice();
        check(jcuda(() -> JCudaDriver.cuDeviceGet(handle, device)), CudaFunction.DEVICE_GET, "device=%d", device);
        return handle;
    }

    private CudaDeviceInfo readInfo(int device) {
        final CUdevice handle = devices[device];
        final byte[] name = new byte[MAX_NAME];
        check(
                jcuda(() -> JCudaDriver.cuDeviceGetName(name, name.length, handle)),
                CudaFunction.DEVICE_GET_NAME,
                "device=%d",
                device);
        final CUuuid uuid = new CUuuid();
        check(
                jcuda(() -> JCudaDriver.cuDeviceGetUuid(uuid, handle)),
                CudaFunction.DEVICE_GET_UUID,
                "device=%d",
                device);
        final String[] pciBusId = new String[1];
        check(
                jcuda(() -> JCudaDriver.cuDeviceGetPCIBusId(pciBusId, MAX_PCI_BUS_ID, handle)),
                CudaFunction.DEVICE_GET_PCI_BUS_ID,
                "device=%d",
                device);
        final long[] totalByteSize = new long[1];
        check(
                jcuda(() -> JCudaDriver.cuDeviceTotalMem(totalByteSize, handle)),
                CudaFunction.DEVICE_TOTAL_MEM,
                "device=%d",
                device);
        return new CudaDeviceInfo(
                device,
                text(name),
                uuid(uuid.bytes),
                pciBusId[0].strip(),
                totalByteSize[0],
                10 * attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                        + attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0,
                attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0,
                attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0,
                attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0);
    }

    private int attribute(int device, int attribute) {
        final int[] value = new int[1];
        check(
                jcuda(() -> JCudaDriver.cuDeviceGetAttribute(value, attribute, devices[device])),
                CudaFunction.DEVICE_GET_ATTRIBUTE,
                "device=%d, attribute=%d",
                device,
                attribute);
        return value[0];
    }

    private static String text(byte[] zeroTerminated) {
        int length = 0;
        while (length < zeroTerminated.length && zeroTerminated[length] != 0) {
            length++;
        }
        return new String(zeroTerminated, 0, length, StandardCharsets.UTF_8);
    }

    private static UUID uuid(byte[] bytes) {
        long high = 0;
        long low = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            high = high << Byte.SIZE | Byte.toUnsignedLong(bytes[i]);
            low = low << Byte.SIZE | Byte.toUnsignedLong(bytes[Long.BYTES + i]);
        }
        return new UUID(high, low);
    }

    // Memory

    @Override
    public long memAlloc(int device, long byteSize) {
        final int cell = OutCell.take();
        try {
            final int result;
            if (byteSize <= 0) {
                result = CudaResult.INVALID_VALUE;
            } else {
                final long previous = enter(device, cell, CudaFunction.MEM_ALLOC);
                result = LibCuda.call(LibCuda.MEM_ALLOC, OutCell.address(cell), byteSize);
                leave(device, previous);
            }
            if (result != CudaResult.SUCCESS) {
                throw failure(result, CudaFunction.MEM_ALLOC, "device=%d, byteSize=%d", device, byteSize);
            }
            return OutCell.getLong(cell);
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void memFree(int device, long address) {
        final long previous = enter(device, CudaFunction.MEM_FREE);
        final int result = LibCuda.call(LibCuda.MEM_FREE, address);
        leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw failure(result, CudaFunction.MEM_FREE, "device=%d, address=%#x", device, address);
        }
    }

    @Override
    public CudaMemoryUsage memGetInfo(int device) {
        final long[] free = new long[1];
        final long[] total = new long[1];
        final int result = inContext(
                device, CudaFunction.MEM_GET_INFO, cell -> jcuda(() -> JCudaDriver.cuMemGetInfo(free, total)));
        check(result, CudaFunction.MEM_GET_INFO, "device=%d", device);
        return new CudaMemoryUsage(free[0], total[0]);
    }

    @Override
    public long memAllocManaged(int device, long byteSize) {
        final JCudaPointers.Device pointer = new JCudaPointers.Device(0);
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : inContext(
                        device,
                        CudaFunction.MEM_ALLOC_MANAGED,
                        cell -> jcuda(() -> JCudaDriver.cuMemAllocManaged(
                                pointer, byteSize, CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)));
        check(result, CudaFunction.MEM_ALLOC_MANAGED, "device=%d, byteSize=%d", device, byteSize);
        return pointer.address();
    }

    @Override
    public long memHostAlloc(int device, long byteSize, boolean isPortable) {
        final long[] address = new long[1];
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : inContext(device, CudaFunction.MEM_HOST_ALLOC, cell -> {
                    final int code = LibCuda.callWithInt(
                            LibCuda.MEM_HOST_ALLOC,
                            OutCell.address(cell),
                            byteSize,
                            isPortable ? HOST_ALLOC_PORTABLE : 0);
                    return readLong(code, cell, address);
                });
        check(
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
        final int result =
                inContext(device, CudaFunction.MEM_FREE_HOST, cell -> LibCuda.call(LibCuda.MEM_FREE_HOST, address));
        check(result, CudaFunction.MEM_FREE_HOST, "device=%d, address=%#x", device, address);
    }

    @Override
    public void memsetD8(int device, long address, byte value, long byteSize) {
        final CUdeviceptr target = new JCudaPointers.Device(address);
        final int result = inContext(
                device, CudaFunction.MEMSET_D8, cell -> jcuda(() -> JCudaDriver.cuMemsetD8(target, value, byteSize)));
        check(
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
        final long previous = enter(device, CudaFunction.MEMSET_D8_ASYNC);
        final int result = LibCuda.callWithByte(LibCuda.MEMSET_D8_ASYNC, address, value, byteSize, stream);
        leave(device, previous);
        check(
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
        final int result = inContext(
                device,
                CudaFunction.MEMCPY_HTOD,
                cell -> jcuda(() -> JCudaDriver.cuMemcpyHtoD(
                        new JCudaPointers.Device(target), new JCudaPointers.Host(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_HTOD, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyHtoDAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = enter(device, CudaFunction.MEMCPY_HTOD_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_HTOD_ASYNC, target, source, byteSize, stream);
        leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_HTOD_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoH(int device, long target, long source, long byteSize) {
        final int result = inContext(
                device,
                CudaFunction.MEMCPY_DTOH,
                cell -> jcuda(() -> JCudaDriver.cuMemcpyDtoH(
                        new JCudaPointers.Host(target), new JCudaPointers.Device(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_DTOH, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoHAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = enter(device, CudaFunction.MEMCPY_DTOH_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_DTOH_ASYNC, target, source, byteSize, stream);
        leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_DTOH_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyDtoD(int device, long target, long source, long byteSize) {
        final int result = inContext(
                device,
                CudaFunction.MEMCPY_DTOD,
                cell -> jcuda(() -> JCudaDriver.cuMemcpyDtoD(
                        new JCudaPointers.Device(target), new JCudaPointers.Device(source), byteSize)));
        checkCopy(result, CudaFunction.MEMCPY_DTOD, device, target, source, byteSize, 0);
    }

    @Override
    public void memcpyDtoDAsync(int device, long target, long source, long byteSize, long stream) {
        final long previous = enter(device, CudaFunction.MEMCPY_DTOD_ASYNC);
        final int result = LibCuda.call(LibCuda.MEMCPY_DTOD_ASYNC, target, source, byteSize, stream);
        leave(device, previous);
        checkCopy(result, CudaFunction.MEMCPY_DTOD_ASYNC, device, target, source, byteSize, stream);
    }

    @Override
    public void memcpyPeerAsync(
            int targetDevice, long target, int sourceDevice, long source, long byteSize, long stream) {
        final long sourceContext = context(sourceDevice, CudaFunction.MEMCPY_PEER_ASYNC);
        final long previous = enter(targetDevice, CudaFunction.MEMCPY_PEER_ASYNC);
        final int result = LibCuda.call(
                LibCuda.MEMCPY_PEER_ASYNC, target, contexts.get(targetDevice), source, sourceContext, byteSize, stream);
        leave(targetDevice, previous);
        check(
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
            throw failure(
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

    // Pools

    @Override
    public long memPoolCreate(int device) {
        final CUmemPoolProps properties = new CUmemPoolProps();
        properties.allocType = CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = new CUmemLocation(CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, device);
        final JCudaPointers.Pool pool = new JCudaPointers.Pool();
        final int result = inContext(
                device,
                CudaFunction.MEM_POOL_CREATE,
                cell -> infos[device].hasMemoryPools()
                        ? jcuda(() -> JCudaDriver.cuMemPoolCreate(pool, properties))
                        : CudaResult.NOT_SUPPORTED);
        check(result, CudaFunction.MEM_POOL_CREATE, "device=%d", device);
        return pool.handle();
    }

    @Override
    public void memPoolDestroy(int device, long pool) {
        final int result =
                inContext(device, CudaFunction.MEM_POOL_DESTROY, cell -> LibCuda.call(LibCuda.MEM_POOL_DESTROY, pool));
        check(result, CudaFunction.MEM_POOL_DESTROY, "device=%d, pool=%#x", device, pool);
    }

    @Override
    public long deviceGetDefaultMemPool(int device) {
        final long[] pool = new long[1];
        final int result = inContext(
                device,
                CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL,
                cell -> infos[device].hasMemoryPools()
                        ? readLong(
                                LibCuda.callWithInt(LibCuda.DEVICE_GET_DEFAULT_MEM_POOL, OutCell.address(cell), device),
                                cell,
                                pool)
                        : CudaResult.NOT_SUPPORTED);
        check(result, CudaFunction.DEVICE_GET_DEFAULT_MEM_POOL, "device=%d", device);
        return pool[0];
    }

    @Override
    public long memPoolGetAttribute(int device, long pool, PoolAttribute attribute) {
        final long[] value = new long[1];
        final int result = inContext(device, CudaFunction.MEM_POOL_GET_ATTRIBUTE, cell -> {
            final int code =
                    LibCuda.callWithInt(LibCuda.MEM_POOL_GET_ATTRIBUTE, pool, attribute.code(), OutCell.address(cell));
            if (code == CudaResult.SUCCESS) {
                value[0] = attribute.isByteSize() ? OutCell.getLong(cell) : OutCell.getInt(cell);
            }
            return code;
        });
        check(
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
        final int result = inContext(device, CudaFunction.MEM_POOL_SET_ATTRIBUTE, cell -> {
            OutCell.setLong(cell, value);
            return LibCuda.callWithInt(LibCuda.MEM_POOL_SET_ATTRIBUTE, pool, attribute.code(), OutCell.address(cell));
        });
        check(
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
        final int result = inContext(device, CudaFunction.MEM_POOL_SET_ACCESS, cell -> {
            writeAccess(cell, accessingDevice, access);
            return LibCuda.call(LibCuda.MEM_POOL_SET_ACCESS, pool, OutCell.address(cell) + OutCell.STRUCTURE, 1L);
        });
        check(
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
                : inContext(
                        device,
                        CudaFunction.MEM_POOL_TRIM_TO,
                        cell -> LibCuda.call(LibCuda.MEM_POOL_TRIM_TO, pool, minBytesToKeep));
        check(
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
                final long previous = enter(device, cell, CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC);
                result = LibCuda.call(LibCuda.MEM_ALLOC_FROM_POOL_ASYNC, OutCell.address(cell), byteSize, pool, stream);
                leave(device, previous);
            }
            if (result != CudaResult.SUCCESS) {
                throw failure(
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
        final long previous = enter(device, CudaFunction.MEM_FREE_ASYNC);
        final int result = LibCuda.call(LibCuda.MEM_FREE_ASYNC, address, stream);
        leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw failure(
                    result, CudaFunction.MEM_FREE_ASYNC, "device=%d, address=%#x, stream=%#x", device, address, stream);
        }
    }

    // Address ranges

    @Override
    public long memGetAllocationGranularity(int device) {
        final long[] granularity = new long[1];
        final int result = inContext(device, CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, cell -> {
            if (!infos[device].hasVirtualMemory()) {
                return CudaResult.NOT_SUPPORTED;
            }
            writeProperties(cell, device);
            final int code = LibCuda.callWithInt(
                    LibCuda.MEM_GET_ALLOCATION_GRANULARITY,
                    OutCell.address(cell),
                    OutCell.address(cell) + OutCell.STRUCTURE,
                    0);
            return readLong(code, cell, granularity);
        });
        check(result, CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, "device=%d", device);
        return granularity[0];
    }

    @Override
    public long memAddressReserve(int device, long byteSize) {
        final JCudaPointers.Device range = new JCudaPointers.Device(0);
        final CUdeviceptr anywhere = new CUdeviceptr();
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : inContext(
                        device,
                        CudaFunction.MEM_ADDRESS_RESERVE,
                        cell -> jcuda(() -> JCudaDriver.cuMemAddressReserve(range, byteSize, 0, anywhere, 0)));
        check(result, CudaFunction.MEM_ADDRESS_RESERVE, "device=%d, byteSize=%d", device, byteSize);
        return range.address();
    }

    @Override
    public void memAddressFree(int device, long address, long byteSize) {
        final int result = inContext(
                device,
                CudaFunction.MEM_ADDRESS_FREE,
                cell -> jcuda(() -> JCudaDriver.cuMemAddressFree(new JCudaPointers.Device(address), byteSize)));
        check(result, CudaFunction.MEM_ADDRESS_FREE, "device=%d, address=%#x, byteSize=%d", device, address, byteSize);
    }

    @Override
    public long memCreate(int device, long byteSize) {
        final long[] handle = new long[1];
        final int result = byteSize <= 0
                ? CudaResult.INVALID_VALUE
                : inContext(device, CudaFunction.MEM_CREATE, cell -> {
                    writeProperties(cell, device);
                    final int code = LibCuda.call(
                            LibCuda.MEM_CREATE,
                            OutCell.address(cell),
                            byteSize,
                            OutCell.address(cell) + OutCell.STRUCTURE,
                            0L);
                    return readLong(code, cell, handle);
                });
        check(result, CudaFunction.MEM_CREATE, "device=%d, byteSize=%d", device, byteSize);
        return handle[0];
    }

    @Override
    public void memRelease(int device, long handle) {
        final int result =
                inContext(device, CudaFunction.MEM_RELEASE, cell -> LibCuda.call(LibCuda.MEM_RELEASE, handle));
        check(result, CudaFunction.MEM_RELEASE, "device=%d, handle=%#x", device, handle);
    }

    @Override
    public void memMap(int device, long address, long byteSize, long handle) {
        final int result = inContext(
                device, CudaFunction.MEM_MAP, cell -> LibCuda.call(LibCuda.MEM_MAP, address, byteSize, 0L, handle, 0L));
        check(
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
        final int result =
                inContext(device, CudaFunction.MEM_UNMAP, cell -> LibCuda.call(LibCuda.MEM_UNMAP, address, byteSize));
        check(result, CudaFunction.MEM_UNMAP, "device=%d, address=%#x, byteSize=%d", device, address, byteSize);
    }

    @Override
    public void memSetAccess(int device, long address, long byteSize, MemoryAccess access) {
        final int result = inContext(device, CudaFunction.MEM_SET_ACCESS, cell -> {
            writeAccess(cell, device, access);
            return LibCuda.call(
                    LibCuda.MEM_SET_ACCESS, address, byteSize, OutCell.address(cell) + OutCell.STRUCTURE, 1L);
        });
        check(
                result,
                CudaFunction.MEM_SET_ACCESS,
                "device=%d, address=%#x, byteSize=%d, access=%s",
                device,
                address,
                byteSize,
                access);
    }

    /** {@code CUmemAllocationProp}: type, handle types, location (type, ordinal), then zeros; 32 bytes. */
    private static void writeProperties(int cell, int device) {
        OutCell.clearStructure(cell);
        OutCell.setInt(cell, OutCell.STRUCTURE, CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED);
        OutCell.setInt(cell, PROPERTIES_LOCATION_TYPE, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
        OutCell.setInt(cell, PROPERTIES_LOCATION_ID, device);
    }

    /** {@code CUmemAccessDesc}: location (type, ordinal), flags; 12 bytes. */
    private static void writeAccess(int cell, int device, MemoryAccess access) {
        OutCell.clearStructure(cell);
        OutCell.setInt(cell, OutCell.STRUCTURE, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
        OutCell.setInt(cell, ACCESS_LOCATION_ID, device);
        OutCell.setInt(cell, ACCESS_FLAGS, access.code());
    }

    // Streams and events

    @Override
    public long streamCreate(int device) {
        final JCudaPointers.Stream stream = new JCudaPointers.Stream();
        final int result = inContext(
                device,
                CudaFunction.STREAM_CREATE,
                cell -> jcuda(() -> JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING)));
        check(result, CudaFunction.STREAM_CREATE, "device=%d", device);
        return stream.handle();
    }

    @Override
    public void streamDestroy(int device, long stream) {
        final int result = stream == 0
                ? CudaResult.INVALID_HANDLE
                : inContext(device, CudaFunction.STREAM_DESTROY, cell -> LibCuda.call(LibCuda.STREAM_DESTROY, stream));
        check(result, CudaFunction.STREAM_DESTROY, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public void streamSynchronize(int device, long stream) {
        final long previous = enter(device, CudaFunction.STREAM_SYNCHRONIZE);
        final int result = LibCuda.call(LibCuda.STREAM_SYNCHRONIZE, stream);
        leave(device, previous);
        check(result, CudaFunction.STREAM_SYNCHRONIZE, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        final long previous = enter(device, CudaFunction.STREAM_QUERY);
        final int result = LibCuda.call(LibCuda.STREAM_QUERY, stream);
        leave(device, previous);
        if (result != CudaResult.SUCCESS && result != CudaResult.NOT_READY) {
            throw failure(result, CudaFunction.STREAM_QUERY, "device=%d, stream=%#x", device, stream);
        }
        return result == CudaResult.SUCCESS;
    }

    @Override
    public long streamGetId(int device, long stream) {
        final long[] id = new long[1];
        final int result = inContext(
                device,
                CudaFunction.STREAM_GET_ID,
                cell -> readLong(LibCuda.call(LibCuda.STREAM_GET_ID, stream, OutCell.address(cell)), cell, id));
        check(result, CudaFunction.STREAM_GET_ID, "device=%d, stream=%#x", device, stream);
        return id[0];
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        final long previous = enter(device, CudaFunction.STREAM_WAIT_EVENT);
        final int result = LibCuda.callWithInt(LibCuda.STREAM_WAIT_EVENT, stream, event, 0);
        leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw failure(
                    result, CudaFunction.STREAM_WAIT_EVENT, "device=%d, stream=%#x, event=%#x", device, stream, event);
        }
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        final long number = HostFunctions.add(function);
        int result = CudaResult.INVALID_VALUE;
        try {
            result = inContext(
                    device,
                    CudaFunction.LAUNCH_HOST_FUNC,
                    cell -> LibCuda.call(LibCuda.LAUNCH_HOST_FUNC, stream, HostFunctions.ENTRY, number));
        } finally {
            if (result != CudaResult.SUCCESS) {
                HostFunctions.remove(number);
            }
        }
        check(result, CudaFunction.LAUNCH_HOST_FUNC, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public long eventCreate(int device) {
        final JCudaPointers.Event event = new JCudaPointers.Event();
        final int result = inContext(
                device,
                CudaFunction.EVENT_CREATE,
                cell -> jcuda(() -> JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING)));
        check(result, CudaFunction.EVENT_CREATE, "device=%d", device);
        return event.handle();
    }

    @Override
    public void eventDestroy(int device, long event) {
        final int result =
                inContext(device, CudaFunction.EVENT_DESTROY, cell -> LibCuda.call(LibCuda.EVENT_DESTROY, event));
        check(result, CudaFunction.EVENT_DESTROY, "device=%d, event=%#x", device, event);
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        final long previous = enter(device, CudaFunction.EVENT_RECORD);
        final int result = LibCuda.call(LibCuda.EVENT_RECORD, event, stream);
        leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw failure(result, CudaFunction.EVENT_RECORD, "device=%d, event=%#x, stream=%#x", device, event, stream);
        }
    }

    @Override
    public boolean eventQuery(int device, long event) {
        final long previous = enter(device, CudaFunction.EVENT_QUERY);
        final int result = LibCuda.call(LibCuda.EVENT_QUERY, event);
        leave(device, previous);
        if (result != CudaResult.SUCCESS && result != CudaResult.NOT_READY) {
            throw failure(result, CudaFunction.EVENT_QUERY, "device=%d, event=%#x", device, event);
        }
        return result == CudaResult.SUCCESS;
    }

    @Override
    public void eventSynchronize(int device, long event) {
        final long previous = enter(device, CudaFunction.EVENT_SYNCHRONIZE);
        final int result = LibCuda.call(LibCuda.EVENT_SYNCHRONIZE, event);
        leave(device, previous);
        check(result, CudaFunction.EVENT_SYNCHRONIZE, "device=%d, event=%#x", device, event);
    }

    // Contexts

    private void requireDevice(int device, CudaFunction function) {
        if (device < 0 || device >= devices.length) {
            throw failure(CudaResult.INVALID_DEVICE, function, "device=%d", device);
        }
    }

    private long context(int device, CudaFunction function) {
        requireDevice(device, function);
        final long context = contexts.get(device);
        if (context == 0) {
            throw failure(CudaResult.INVALID_CONTEXT, function, "device=%d", device);
        }
        return context;
    }

    private long enter(int device, CudaFunction function) {
        final int cell = OutCell.take();
        try {
            return enter(device, cell, function);
        } finally {
            OutCell.giveBack(cell);
        }
    }

    /** Makes the device's context current; returns what was current before, for {@link #leave}. */
    private long enter(int device, int cell, CudaFunction function) {
        final long context = context(device, function);
        int result = LibCuda.call(LibCuda.CTX_GET_CURRENT, OutCell.address(cell));
        if (result == CudaResult.SUCCESS) {
            final long previous = OutCell.getLong(cell);
            if (previous == context) {
                return previous;
            }
            result = LibCuda.call(LibCuda.CTX_SET_CURRENT, context);
            if (result == CudaResult.SUCCESS) {
                return previous;
            }
        }
        throw failure(result, function, "device=%d", device);
    }

    private void leave(int device, long previous) {
        if (previous != 0 && previous != contexts.get(device)) {
            LibCuda.call(LibCuda.CTX_SET_CURRENT, previous);
        }
    }

    private int inContext(int device, CudaFunction function, Call call) {
        final int cell = OutCell.take();
        try {
            final long previous = enter(device, cell, function);
            final int result = call.run(cell);
            leave(device, previous);
            return result;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    /** A call in the right context, with the cell to write its results to. */
    @FunctionalInterface
    private interface Call {
        int run(int cell);
    }

    // Results

    /** JCuda throws instead of returning a result if anyone in the process has asked it to. */
    private static int jcuda(JCudaCall call) {
        try {
            return call.run();
        } catch (jcuda.CudaException e) {
            return CudaResult.ofName(String.valueOf(e.getMessage()));
        }
    }

    @FunctionalInterface
    private interface JCudaCall {
        int run();
    }

    private static int readLong(int result, int cell, long[] value) {
        if (result == CudaResult.SUCCESS) {
            value[0] = OutCell.getLong(cell);
        }
        return result;
    }

    private static void check(int result, CudaFunction function, String format, Object... arguments) {
        if (result != CudaResult.SUCCESS) {
            throw failure(result, function, format, arguments);
        }
    }

    @SuppressWarnings("AnnotateFormatMethod") // the annotation would be a dependency
    private static CudaException failure(int result, CudaFunction function, String format, Object... arguments) {
        return new CudaException(function, format.formatted(arguments), result, resultName(result));
    }

    /** The driver knows names that are newer than JCuda. */
    @SuppressWarnings("restricted") // the driver returns the address of a constant
    private static String resultName(int result) {
        final int cell = OutCell.take();
        try {
            if (LibCuda.callWithInt(LibCuda.GET_ERROR_NAME, result, OutCell.address(cell)) == CudaResult.SUCCESS) {
                return MemorySegment.ofAddress(OutCell.getLong(cell))
                        .reinterpret(MAX_NAME)
                        .getString(0);
            }
            return CudaResult.nameOf(result);
        } finally {
            OutCell.giveBack(cell);
        }
    }
}
