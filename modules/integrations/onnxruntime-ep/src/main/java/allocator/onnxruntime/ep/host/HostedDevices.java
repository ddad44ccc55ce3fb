package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The devices of a provider as ONNX Runtime lists them, and their memories.
 *
 * <p>An {@code OrtEpDevice} belongs to a hardware device that ONNX Runtime has found: the one of the same type, vendor
 * and model, or else of the same type, or else the CPU, which is always there. Its metadata has what the provider says.
 */
public final class HostedDevices {
    /** The key of a device's metadata that has the name of the library: several may have a provider of one name. */
    public static final String LIBRARY = "provider.library";

    /** The {@code OrtHardwareDeviceType} of a device type that has none. */
    private static final int NO_HARDWARE_TYPE = -1;

    private final EpApi api = EpApi.get();
    private final List<DeviceMemory> memories = new ArrayList<>();

    HostedDevices() {}

    /**
     * Makes the devices. If it throws, it has made none.
     *
     * @param factory the provider
     * @param version the provider's version, for the metadata
     * @param devices the provider's devices
     * @param hardware the {@code OrtHardwareDevice}s of this machine
     * @param max the largest number of devices that ONNX Runtime takes
     * @return the {@code OrtEpDevice}s, which the receiver owns
     */
    List<Long> create(HostedFactory factory, String version, List<EpDevice> devices, List<Long> hardware, long max) {
        if (devices.size() > max) {
            throw new IllegalStateException(
                    "ONNX Runtime takes at most " + max + " devices of a provider; it has " + devices.size());
        }
        final List<Long> created = new ArrayList<>();
        boolean isDone = false;
        try {
            for (final EpDevice device : devices) {
                created.add(create(factory, version, device, hardwareOf(device.hardware(), hardware)));
                for (final MemoryInfo info : device.memoryInfos()) {
                    final DeviceMemory memory = DeviceMemory.of(info);
                    memories.add(memory);
                    api.call(EpFunction.EP_DEVICE_ADD_ALLOCATOR_INFO, created.getLast(), memory.ortInfo());
                }
            }
            isDone = true;
            return created;
        } finally {
            if (!isDone) {
                created.forEach(device -> api.invoke(EpFunction.RELEASE_EP_DEVICE, device));
                release();
            }
        }
    }

    private long create(HostedFactory factory, String version, EpDevice device, long hardware) {
        final Map<String, String> metadata = new TreeMap<>();
        device.hardware().metadata().forEach((key, value) -> metadata.put("hardware." + key, value));
        metadata.put("provider.version", version);
        metadata.put(LIBRARY, factory.library());
        metadata.put("hardware.name", device.hardware().name());
        device.memoryInfos().forEach(info -> metadata.put("memory." + info.name(), info.toString()));
        final long pairs = api.ort().createPairs(metadata);
        try {
            return api.get(EpFunction.CREATE_EP_DEVICE, factory.struct(), hardware, pairs, 0);
        } finally {
            api.ort().release(OrtApi.Function.RELEASE_KEY_VALUE_PAIRS, pairs);
        }
    }

    private long hardwareOf(HardwareDevice wanted, List<Long> hardware) {
        long best = 0;
        int bestScore = 0;
        for (final long candidate : hardware) {
            final int score = score(wanted, candidate);
            if (score > bestScore) {
                best = candidate;
                bestScore = score;
            }
        }
        if (best == 0) {
            throw new IllegalStateException("ONNX Runtime has found no hardware to which " + wanted + " could belong");
        }
        return best;
    }

    private int score(HardwareDevice wanted, long candidate) {
        final int type = (int) api.invoke(EpFunction.HARDWARE_DEVICE_TYPE, candidate);
        if (type != hardwareType(wanted.type())) {
            return type == hardwareType(DeviceType.CPU) ? 1 : 0;
        }
        if (wanted.vendorId() != (int) api.invoke(EpFunction.HARDWARE_DEVICE_VENDOR_ID, candidate)) {
            return 2;
        }
        return wanted.deviceId() == (int) api.invoke(EpFunction.HARDWARE_DEVICE_DEVICE_ID, candidate) ? 4 : 3;
    }

    private static int hardwareType(DeviceType type) {
        return switch (type) {
            case CPU -> 0;
            case GPU -> 1;
            case NPU -> 2;
            case FPGA -> NO_HARDWARE_TYPE;
        };
    }

    /**
     * Returns the memory of an {@code OrtMemoryInfo}.
     *
     * @throws UnsupportedMemoryException if it is not of this provider
     */
    DeviceMemory memory(long ortInfo) {
        return memories.stream()
                .filter(memory -> memory.ortInfo() == ortInfo)
                .findFirst()
                .orElseThrow(() -> new UnsupportedMemoryException(
                        "the memory info 0x" + Long.toHexString(ortInfo) + " is not of this provider"));
    }

    /** Returns the info of an {@code OrtMemoryDevice}, of this provider's memories or another's. */
    MemoryInfo infoOf(long device) {
        return memories.stream()
                .filter(memory -> !memory.info().isReadOnly() && memory.isOn(device))
                .map(DeviceMemory::info)
                .findFirst()
                .orElseGet(() -> DeviceMemory.foreign(device));
    }

    /** Returns whether the CPU reaches the default memory of every device, so that nodes can run in Java. */
    boolean areOfHost() {
        return !memories.isEmpty()
                && memories.stream()
                        .filter(memory -> memory.info().memoryType() == MemoryType.DEFAULT)
                        .allMatch(memory -> memory.info().deviceType() == DeviceType.CPU);
    }

    /** Releases the memory infos. */
    void release() {
        memories.forEach(DeviceMemory::release);
        memories.clear();
    }
}
