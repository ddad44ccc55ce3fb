package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.Upcalls;
import allocator.spi.DataTransfer;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The {@code OrtEpFactory}s of plug-in providers. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class FactoryStruct {
    private static final NativeObjects<HostedFactory> OBJECTS =
            new NativeObjects<>(EpStructs.BYTE_SIZE, FactoryStruct::fill);

    private FactoryStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(FactoryStruct.class);
        static final MemorySegment GET_NAME = Upcalls.stub(IN, "name", 1);
        static final MemorySegment GET_VENDOR = Upcalls.stub(IN, "vendor", 1);
        static final MemorySegment GET_SUPPORTED_DEVICES = Guard.statusStub(IN, "supportedDevices", 6);
        static final MemorySegment CREATE_EP = Guard.statusStub(IN, "createEp", 7);
        static final MemorySegment RELEASE_EP = Upcalls.stub(IN, "releaseEp", 2);
        static final MemorySegment GET_VENDOR_ID = Upcalls.stub(IN, "vendorId", 1);
        static final MemorySegment GET_VERSION = Upcalls.stub(IN, "version", 1);
        static final MemorySegment CREATE_ALLOCATOR = Guard.statusStub(IN, "createAllocator", 4);
        static final MemorySegment RELEASE_ALLOCATOR = Upcalls.stub(IN, "releaseAllocator", 2);
        static final MemorySegment CREATE_DATA_TRANSFER = Upcalls.stub(IN, "createDataTransfer", 2);
        static final MemorySegment IS_STREAM_AWARE = Upcalls.stub(IN, "isStreamAware", 1);
        static final MemorySegment CREATE_SYNC_STREAM_FOR_DEVICE = Guard.statusStub(IN, "createSyncStream", 4);
    }

    private static void fill(HostedFactory factory, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.Factory.GET_NAME, Functions.GET_NAME);
        struct.set(ADDRESS, EpStructs.Factory.GET_VENDOR, Functions.GET_VENDOR);
        struct.set(ADDRESS, EpStructs.Factory.GET_SUPPORTED_DEVICES, Functions.GET_SUPPORTED_DEVICES);
        struct.set(ADDRESS, EpStructs.Factory.CREATE_EP, Functions.CREATE_EP);
        struct.set(ADDRESS, EpStructs.Factory.RELEASE_EP, Functions.RELEASE_EP);
        struct.set(ADDRESS, EpStructs.Factory.GET_VENDOR_ID, Functions.GET_VENDOR_ID);
        struct.set(ADDRESS, EpStructs.Factory.GET_VERSION, Functions.GET_VERSION);
        struct.set(ADDRESS, EpStructs.Factory.CREATE_ALLOCATOR, Functions.CREATE_ALLOCATOR);
        struct.set(ADDRESS, EpStructs.Factory.RELEASE_ALLOCATOR, Functions.RELEASE_ALLOCATOR);
        struct.set(ADDRESS, EpStructs.Factory.CREATE_DATA_TRANSFER, Functions.CREATE_DATA_TRANSFER);
        struct.set(ADDRESS, EpStructs.Factory.IS_STREAM_AWARE, Functions.IS_STREAM_AWARE);
        struct.set(ADDRESS, EpStructs.Factory.CREATE_SYNC_STREAM_FOR_DEVICE, Functions.CREATE_SYNC_STREAM_FOR_DEVICE);
    }

    /** Makes the struct of a factory. */
    static long add(HostedFactory factory) {
        return OBJECTS.add(factory);
    }

    /** Removes a struct; returns whether it was there. */
    static boolean remove(long struct) {
        return OBJECTS.remove(struct) != null;
    }

    /** ONNX Runtime has released a factory. Returns the null status. */
    static long release(long struct) {
        return Guard.status(OBJECTS, struct, "ReleaseEpFactory", HostedFactory::release);
    }

    private static long name(long struct) {
        return Guard.value(OBJECTS, struct, "OrtEpFactory::GetName", 0, HostedFactory::nameText);
    }

    private static long vendor(long struct) {
        return Guard.value(OBJECTS, struct, "OrtEpFactory::GetVendor", 0, HostedFactory::vendorText);
    }

    private static long version(long struct) {
        return Guard.value(OBJECTS, struct, "OrtEpFactory::GetVersion", 0, HostedFactory::versionText);
    }

    private static long vendorId(long struct) {
        return Guard.value(OBJECTS, struct, "OrtEpFactory::GetVendorId", 0, HostedFactory::vendorId);
    }

    private static long supportedDevices(
            long struct, long hardware, long hardwareCount, long out, long max, long outCount) {
        return Guard.status(OBJECTS, struct, "OrtEpFactory::GetSupportedDevices", factory -> {
            EpApi.set(outCount, 0);
            final List<Long> found = new ArrayList<>();
            for (long i = 0; i < hardwareCount; i++) {
                found.add(EpApi.element(hardware, i));
            }
            final List<Long> devices = factory.createDevices(found, max);
            for (int i = 0; i < devices.size(); i++) {
                EpApi.set(out + (long) i * Long.BYTES, devices.get(i));
            }
            EpApi.set(outCount, devices.size());
        });
    }

    private static long createEp(
            long struct, long devices, long metadata, long count, long sessionOptions, long logger, long out) {
        return Guard.status(OBJECTS, struct, "OrtEpFactory::CreateEp", factory -> {
            EpApi.set(out, 0);
            final EpApi api = EpApi.get();
            final var entries =
                    api.ort().takePairs(api.get(EpFunction.GET_SESSION_OPTIONS_CONFIG_ENTRIES, sessionOptions));
            EpApi.set(out, HostedEp.create(factory, factory.sessionOptions(entries)));
        });
    }

    private static long releaseEp(long struct, long ep) {
        // The execution provider knows its factory, which ONNX Runtime may have released before.
        return EpStruct.release(ep);
    }

    private static long createAllocator(long struct, long info, long options, long out) {
        return Guard.status(OBJECTS, struct, "OrtEpFactory::CreateAllocator", factory -> {
            EpApi.set(out, 0);
            EpApi.set(out, factory.createShared(info, HostedFactory.entries(options)));
        });
    }

    private static long releaseAllocator(long struct, long allocator) {
        return AllocatorStruct.release(allocator);
    }

    private static long createDataTransfer(long struct, long out) {
        // No status: ONNX Runtime 1.29 leaves devices behind that it has freed if this fails.
        return Guard.run(OBJECTS, struct, "OrtEpFactory::CreateDataTransfer", factory -> {
            EpApi.set(out, 0);
            final Optional<DataTransfer> transfer = factory.dataTransfer();
            if (transfer.isPresent()) {
                EpApi.set(out, TransferStruct.add(new HostedTransfer(factory, transfer.get())));
            }
        });
    }

    private static long isStreamAware(long struct) {
        return Guard.value(
                OBJECTS, struct, "OrtEpFactory::IsStreamAware", 0, factory -> factory.isStreamAware() ? 1 : 0);
    }

    private static long createSyncStream(long struct, long device, long options, long out) {
        return Guard.status(OBJECTS, struct, "OrtEpFactory::CreateSyncStreamForDevice", factory -> {
            EpApi.set(out, 0);
            EpApi.set(out, factory.createStream(device));
        });
    }
}
