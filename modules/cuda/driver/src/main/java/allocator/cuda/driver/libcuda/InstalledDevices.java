package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaFunction;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;

/** Reads which devices this machine has. */
final class InstalledDevices {
    private static final int MAX_NAME = 256;
    private static final int MAX_PCI_BUS_ID = 32;

    private InstalledDevices() {}

    /** Initializes the driver and returns JCuda's handle of each device. */
    static CUdevice[] initialize() {
        Results.check(Results.ofJCuda(() -> JCudaDriver.cuInit(0)), CudaFunction.INIT, "0");
        final int[] count = new int[1];
        Results.check(Results.ofJCuda(() -> JCudaDriver.cuDeviceGetCount(count)), CudaFunction.DEVICE_GET_COUNT, "");
        final CUdevice[] handles = new CUdevice[count[0]];
        for (int device = 0; device < handles.length; device++) {
            handles[device] = handle(device);
        }
        return handles;
    }

    private static CUdevice handle(int device) {
        final CUdevice handle = new CUdevice();
        check(() -> JCudaDriver.cuDeviceGet(handle, device), CudaFunction.DEVICE_GET, device);
        return handle;
    }

    /** Reads the properties of one device. */
    static CudaDeviceInfo read(int device, CUdevice handle) {
        final byte[] name = new byte[MAX_NAME];
        check(() -> JCudaDriver.cuDeviceGetName(name, name.length, handle), CudaFunction.DEVICE_GET_NAME, device);
        final CUuuid uuid = new CUuuid();
        check(() -> JCudaDriver.cuDeviceGetUuid(uuid, handle), CudaFunction.DEVICE_GET_UUID, device);
        final String[] pciBusId = new String[1];
        check(
                () -> JCudaDriver.cuDeviceGetPCIBusId(pciBusId, MAX_PCI_BUS_ID, handle),
                CudaFunction.DEVICE_GET_PCI_BUS_ID,
                device);
        final long[] totalByteSize = new long[1];
        check(() -> JCudaDriver.cuDeviceTotalMem(totalByteSize, handle), CudaFunction.DEVICE_TOTAL_MEM, device);
        return new CudaDeviceInfo(
                device,
                text(name),
                uuid(uuid.bytes),
                pciBusId[0].strip(),
                totalByteSize[0],
                10 * attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                        + attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0,
                attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
                        != 0,
                attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0,
                attribute(device, handle, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0);
    }

    private static int attribute(int device, CUdevice handle, int attribute) {
        final int[] value = new int[1];
        Results.check(
                Results.ofJCuda(() -> JCudaDriver.cuDeviceGetAttribute(value, attribute, handle)),
                CudaFunction.DEVICE_GET_ATTRIBUTE,
                "device=%d, attribute=%d",
                device,
                attribute);
        return value[0];
    }

    private static void check(Results.JCudaCall call, CudaFunction function, int device) {
        Results.check(Results.ofJCuda(call), function, "device=%d", device);
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
}
