package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.Upcalls;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;

/** The {@code OrtDataTransferImpl}s of plug-in providers. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class TransferStruct {
    private static final NativeObjects<HostedTransfer> OBJECTS =
            new NativeObjects<>(EpStructs.BYTE_SIZE, TransferStruct::fill);

    private TransferStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(TransferStruct.class);
        static final MemorySegment RELEASE = Upcalls.stub(IN, "release", 1);
        static final MemorySegment CAN_COPY = Upcalls.stub(IN, "canCopy", 3);
        static final MemorySegment COPY_TENSORS = Guard.statusStub(IN, "copyTensors", 5);
    }

    private static void fill(HostedTransfer transfer, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.DataTransfer.RELEASE, Functions.RELEASE);
        struct.set(ADDRESS, EpStructs.DataTransfer.CAN_COPY, Functions.CAN_COPY);
        struct.set(ADDRESS, EpStructs.DataTransfer.COPY_TENSORS, Functions.COPY_TENSORS);
    }

    /** Makes the struct of a provider's copies. */
    static long add(HostedTransfer transfer) {
        return OBJECTS.add(transfer);
    }

    private static long release(long struct) {
        return Guard.run(OBJECTS, struct, "OrtDataTransferImpl::Release", hosted -> OBJECTS.remove(struct));
    }

    private static long canCopy(long struct, long source, long target) {
        return Guard.value(
                OBJECTS, struct, "OrtDataTransferImpl::CanCopy", 0, hosted -> hosted.canCopy(source, target) ? 1 : 0);
    }

    private static long copyTensors(long struct, long sources, long targets, long streams, long count) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtDataTransferImpl::CopyTensors",
                hosted -> hosted.copy(sources, targets, streams, count));
    }
}
