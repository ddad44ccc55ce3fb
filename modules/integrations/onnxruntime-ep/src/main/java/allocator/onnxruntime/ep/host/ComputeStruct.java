package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.Upcalls;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/** The {@code OrtNodeComputeInfo}s of compiled nodes. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class ComputeStruct {
    private static final NativeObjects<HostedKernel> OBJECTS =
            new NativeObjects<>(EpStructs.BYTE_SIZE, ComputeStruct::fill);

    private ComputeStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(ComputeStruct.class);
        static final MemorySegment CREATE_STATE = Guard.statusStub(IN, "createState", 3);
        static final MemorySegment COMPUTE = Guard.statusStub(IN, "compute", 3);
        static final MemorySegment RELEASE_STATE = Upcalls.stub(IN, "releaseState", 2);
    }

    private static void fill(HostedKernel kernel, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.NodeComputeInfo.CREATE_STATE, Functions.CREATE_STATE);
        struct.set(ADDRESS, EpStructs.NodeComputeInfo.COMPUTE, Functions.COMPUTE);
        struct.set(ADDRESS, EpStructs.NodeComputeInfo.RELEASE_STATE, Functions.RELEASE_STATE);
    }

    /** Makes the struct of a kernel. */
    static long add(HostedKernel kernel) {
        return OBJECTS.add(kernel);
    }

    /** Removes a struct. */
    static void remove(long struct) {
        final HostedKernel ignored = OBJECTS.remove(struct);
    }

    /** A kernel has no state of a session; the struct stands for it. */
    private static long createState(long struct, long context, long out) {
        return Guard.status(OBJECTS, struct, "OrtNodeComputeInfo::CreateState", kernel -> EpApi.set(out, struct));
    }

    private static long compute(long struct, long state, long context) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtNodeComputeInfo::Compute",
                hosted -> hosted.kernel().run(context));
    }

    private static long releaseState(long struct, long state) {
        return 0;
    }
}
