package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.Upcalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/** The {@code OrtEp}s of plug-in providers. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class EpStruct {
    private static final NativeObjects<HostedEp> OBJECTS = new NativeObjects<>(EpStructs.BYTE_SIZE, EpStruct::fill);

    private EpStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(EpStruct.class);
        static final MemorySegment GET_NAME = Upcalls.stub(IN, "name", 1);
        static final MemorySegment GET_CAPABILITY = Guard.statusStub(IN, "capability", 3);
        static final MemorySegment COMPILE = Guard.statusStub(IN, "compile", 6);
        static final MemorySegment RELEASE_NODE_COMPUTE_INFOS = Upcalls.stub(IN, "releaseNodeComputeInfos", 3);
        static final MemorySegment CREATE_ALLOCATOR = Guard.statusStub(IN, "createAllocator", 3);
    }

    private static void fill(HostedEp ep, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.Ep.GET_NAME, Functions.GET_NAME);
        struct.set(ADDRESS, EpStructs.Ep.GET_CAPABILITY, Functions.GET_CAPABILITY);
        struct.set(ADDRESS, EpStructs.Ep.COMPILE, Functions.COMPILE);
        struct.set(ADDRESS, EpStructs.Ep.RELEASE_NODE_COMPUTE_INFOS, Functions.RELEASE_NODE_COMPUTE_INFOS);
        struct.set(ADDRESS, EpStructs.Ep.CREATE_ALLOCATOR, Functions.CREATE_ALLOCATOR);
    }

    /** Makes the struct of an execution provider. */
    static long add(HostedEp ep) {
        return OBJECTS.add(ep);
    }

    /** ONNX Runtime has released an execution provider. */
    static long release(long struct) {
        return Guard.run(OBJECTS, struct, "OrtEpFactory::ReleaseEp", ep -> {
            OBJECTS.remove(struct);
            ep.release();
        });
    }

    private static long name(long struct) {
        return Guard.value(
                OBJECTS, struct, "OrtEp::GetName", 0, ep -> ep.factory().nameText());
    }

    private static long capability(long struct, long graph, long supportInfo) {
        return Guard.status(OBJECTS, struct, "OrtEp::GetCapability", ep -> {
            try (Arena scratch = Arena.ofConfined()) {
                final MemorySegment node = scratch.allocate(ValueLayout.JAVA_LONG);
                for (final long handle : ep.capability(graph)) {
                    node.set(ValueLayout.JAVA_LONG, 0, handle);
                    EpApi.get()
                            .call(
                                    EpFunction.EP_GRAPH_SUPPORT_INFO_ADD_NODES_TO_FUSE,
                                    supportInfo,
                                    node.address(),
                                    1,
                                    0);
                }
            }
        });
    }

    private static long compile(long struct, long graphs, long fused, long count, long out, long contextNodes) {
        return Guard.status(OBJECTS, struct, "OrtEp::Compile", ep -> {
            for (long i = 0; i < count; i++) {
                final long info = ep.compile(EpApi.element(graphs, i), EpApi.element(fused, i));
                EpApi.set(out + i * Long.BYTES, info); // ONNX Runtime releases it, also if the next one fails
            }
        });
    }

    private static long releaseNodeComputeInfos(long struct, long infos, long count) {
        return Guard.run(OBJECTS, struct, "OrtEp::ReleaseNodeComputeInfos", ep -> {
            for (long i = 0; i < count; i++) {
                ComputeStruct.remove(EpApi.element(infos, i));
            }
        });
    }

    private static long createAllocator(long struct, long info, long out) {
        return Guard.status(OBJECTS, struct, "OrtEp::CreateAllocator", ep -> {
            EpApi.set(out, 0);
            EpApi.set(out, ep.createAllocator(info));
        });
    }
}
