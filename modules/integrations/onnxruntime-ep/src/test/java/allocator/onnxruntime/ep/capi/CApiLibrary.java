package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.ep.PluginLibrary;
import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A provider as a plug-in library of ONNX Runtime, and its devices as the C API lists them. The environment has no
 * allocator of it until one is created.
 */
final class CApiLibrary {
    private static final String HARDWARE = "hardware.";
    private static final String HARDWARE_NAME = "hardware.name";

    /** By the {@code OrtMemoryInfoDeviceType}. */
    private static final List<DeviceType> DEVICE_TYPES =
            List.of(DeviceType.CPU, DeviceType.GPU, DeviceType.FPGA, DeviceType.NPU);

    /** The distance between the ordinals of two registrations. */
    private static final int ORDINALS = 16;

    /** The registrations that exist, by their numbers. Guards registering too. */
    private static final BitSet NUMBERS = new BitSet();

    private final int number;
    private final PluginLibrary library;
    private final ProviderErrors errors;
    private final List<EpDevice> devices = new ArrayList<>();
    private final List<CApiMemory> memories = new ArrayList<>();

    private CApiLibrary(EpFactory provider, int number) {
        this.number = number;
        final List<Long> before = epDevices();
        library = PluginLibrary.on(OrtEnvironment.getEnvironment())
                .provider(new RelocatedProvider(provider, number * ORDINALS))
                .name("java.allocator:" + provider.name() + ":" + number)
                .register();
        errors = new ProviderErrors(library);
        final Map<String, Long> alignments = alignments(provider);
        final List<Long> added = epDevices();
        added.removeAll(before);
        added.forEach(device -> add(device, alignments));
        for (final CApiMemory memory : memories) {
            releaseShared(memory);
        }
    }

    /** Registers a provider. */
    static CApiLibrary of(EpFactory provider) {
        synchronized (NUMBERS) {
            final int number = NUMBERS.nextClearBit(0);
            final CApiLibrary made = new CApiLibrary(provider, number);
            NUMBERS.set(number);
            return made;
        }
    }

    /** Unregisters the provider. */
    void close() {
        synchronized (NUMBERS) {
            library.close();
            NUMBERS.clear(number);
        }
    }

    private static List<Long> epDevices() {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment out = scratch.allocate(JAVA_LONG, 2);
            CApi.call(
                    CApi.Function.GET_EP_DEVICES,
                    EnvironmentReference.handle(),
                    out.address(),
                    out.address() + Long.BYTES);
            final List<Long> found = new ArrayList<>();
            for (long i = 0; i < out.getAtIndex(JAVA_LONG, 1); i++) {
                found.add(EpApi.element(out.getAtIndex(JAVA_LONG, 0), i));
            }
            return found;
        }
    }

    /** The C API does not say how blocks are aligned, so an application knows it from the provider's documents. */
    private static Map<String, Long> alignments(EpFactory provider) {
        final Map<String, Long> alignments = new TreeMap<>();
        provider.discoverDevices().devices().stream()
                .flatMap(device -> device.memoryInfos().stream())
                .forEach(info -> alignments.put(info.name(), info.byteAlignment()));
        return alignments;
    }

    private void add(long device, Map<String, Long> alignments) {
        final List<CApiMemory> own = new ArrayList<>();
        for (final int type : new int[] {CApiMemory.DEFAULT, CApiMemory.HOST_ACCESSIBLE}) {
            final long ortInfo = CApi.invoke(CApi.Function.EP_DEVICE_MEMORY_INFO, device, type);
            if (ortInfo != 0) {
                own.add(memory(device, ortInfo, alignments));
            }
        }
        final Map<String, String> metadata = new TreeMap<>();
        final Map<String, String> pairs =
                CApi.ort().readPairs(CApi.invoke(CApi.Function.EP_DEVICE_EP_METADATA, device));
        pairs.forEach((key, value) -> {
            if (key.startsWith(HARDWARE) && !key.equals(HARDWARE_NAME)) {
                metadata.put(key.substring(HARDWARE.length()), value);
            }
        });
        final MemoryLocation location = own.getFirst().info().location();
        final int model = (int) CApi.invoke(
                CApi.Function.HARDWARE_DEVICE_DEVICE_ID, CApi.invoke(CApi.Function.EP_DEVICE_DEVICE, device));
        final EpDevice.Builder listed = EpDevice.on(new HardwareDevice(
                location.deviceType(), location.vendorId(), model, String.valueOf(pairs.get(HARDWARE_NAME)), metadata));
        for (final CApiMemory memory : own) {
            final EpDevice.Builder ignored = listed.memory(memory.info());
        }
        memories.addAll(own);
        devices.add(listed.build());
    }

    /** Describes a memory by its info and by the allocator that the environment shares. */
    private CApiMemory memory(long device, long ortInfo, Map<String, Long> alignments) {
        final MemoryInfo info = infoOf(ortInfo, alignments);
        final long struct = shared(ortInfo);
        return new CApiMemory(
                info,
                device,
                ortInfo,
                info.deviceOrdinal() + number * ORDINALS,
                CApi.member(struct, OrtAllocatorLayout.ALLOC_ON_STREAM) != 0,
                CApi.member(struct, OrtAllocatorLayout.SHRINK) != 0);
    }

    /** Returns what an {@code OrtMemoryInfo} describes, with the ordinal that the provider itself has. */
    private MemoryInfo infoOf(long ortInfo, Map<String, Long> alignments) {
        final EpApi api = EpApi.get();
        final String name = OrtApi.text(CApi.get(CApi.Function.MEMORY_INFO_GET_NAME, ortInfo));
        final long device = api.invoke(EpFunction.MEMORY_INFO_GET_MEMORY_DEVICE, ortInfo);
        final boolean isDefault =
                (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_MEMORY_TYPE, device) == CApiMemory.DEFAULT;
        return new MemoryInfo(
                name,
                new MemoryLocation(
                        DEVICE_TYPES.get((int) api.invoke(EpFunction.MEMORY_DEVICE_GET_DEVICE_TYPE, device)),
                        (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_VENDOR_ID, device),
                        (int) api.invoke(EpFunction.MEMORY_DEVICE_GET_DEVICE_ID, device) - number * ORDINALS,
                        isDefault ? MemoryType.DEFAULT : MemoryType.HOST_ACCESSIBLE),
                alignments.get(name),
                AllocatorType.DEVICE);
    }

    ProviderErrors errors() {
        return errors;
    }

    List<EpDevice> devices() {
        return List.copyOf(devices);
    }

    List<CApiMemory> memories() {
        return memories;
    }

    /** Returns the listed memory of a location. */
    Optional<CApiMemory> memory(MemoryLocation location) {
        return memories.stream()
                .filter(memory -> memory.info().location().equals(location))
                .findFirst();
    }

    /** Creates the allocator that the environment shares. */
    long createShared(CApiMemory memory, Map<String, String> options) {
        final long pairs = CApi.ort().createPairs(options);
        try {
            return errors.get(() -> CApi.get(
                    CApi.Function.CREATE_SHARED_ALLOCATOR,
                    EnvironmentReference.handle(),
                    memory.device(),
                    memory.memoryType(),
                    OrtApi.DEVICE_ALLOCATOR,
                    pairs));
        } finally {
            CApi.ort().release(OrtApi.Function.RELEASE_KEY_VALUE_PAIRS, pairs);
        }
    }

    /** Returns the allocator that the environment shares. */
    static long shared(long ortInfo) {
        return CApi.get(CApi.Function.GET_SHARED_ALLOCATOR, EnvironmentReference.handle(), ortInfo);
    }

    /** Releases the allocator that the environment shares. */
    void releaseShared(CApiMemory memory) {
        errors.run(() -> CApi.call(
                CApi.Function.RELEASE_SHARED_ALLOCATOR,
                EnvironmentReference.handle(),
                memory.device(),
                memory.memoryType()));
    }
}
