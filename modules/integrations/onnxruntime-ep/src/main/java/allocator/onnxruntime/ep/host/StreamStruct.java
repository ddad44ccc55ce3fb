package allocator.onnxruntime.ep.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.abi.NativeObjects;
import allocator.onnxruntime.support.Upcalls;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import org.jspecify.annotations.Nullable;

/** The {@code OrtSyncStreamImpl}s of plug-in providers. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class StreamStruct {
    private static final NativeObjects<HostedStream> OBJECTS =
            new NativeObjects<>(EpStructs.BYTE_SIZE, StreamStruct::fill);

    private StreamStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(StreamStruct.class);
        static final MemorySegment RELEASE = Upcalls.stub(IN, "release", 1);
        static final MemorySegment GET_HANDLE = Upcalls.stub(IN, "handle", 1);
        static final MemorySegment CREATE_NOTIFICATION = Guard.statusStub(IN, "createNotification", 2);
        static final MemorySegment FLUSH = Guard.statusStub(IN, "flush", 1);
        static final MemorySegment ON_SESSION_RUN_END = Guard.statusStub(IN, "onSessionRunEnd", 1);
    }

    private static void fill(HostedStream stream, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.SyncStream.RELEASE, Functions.RELEASE);
        struct.set(ADDRESS, EpStructs.SyncStream.GET_HANDLE, Functions.GET_HANDLE);
        struct.set(ADDRESS, EpStructs.SyncStream.CREATE_NOTIFICATION, Functions.CREATE_NOTIFICATION);
        struct.set(ADDRESS, EpStructs.SyncStream.FLUSH, Functions.FLUSH);
        struct.set(ADDRESS, EpStructs.SyncStream.ON_SESSION_RUN_END, Functions.ON_SESSION_RUN_END);
    }

    /** Makes the struct of a stream. */
    static long add(HostedStream stream) {
        return OBJECTS.add(stream);
    }

    /**
     * Returns the stream of a Java provider that is behind an {@code OrtSyncStream}; {@code null} if it is another's.
     */
    static @Nullable SyncStream streamOf(long ortStream) {
        final HostedStream hosted = OBJECTS.get(EpApi.get().invoke(EpFunction.SYNC_STREAM_GET_IMPL, ortStream));
        return hosted == null ? null : hosted.stream();
    }

    private static long release(long struct) {
        return Guard.run(OBJECTS, struct, "OrtSyncStreamImpl::Release", hosted -> {
            OBJECTS.remove(struct);
            hosted.release();
        });
    }

    private static long handle(long struct) {
        return Guard.value(
                OBJECTS,
                struct,
                "OrtSyncStreamImpl::GetHandle",
                0,
                hosted -> hosted.stream().handle());
    }

    private static long createNotification(long struct, long out) {
        return Guard.status(OBJECTS, struct, "OrtSyncStreamImpl::CreateNotification", hosted -> {
            EpApi.set(out, 0);
            EpApi.set(out, hosted.createNotification());
        });
    }

    private static long flush(long struct) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtSyncStreamImpl::Flush",
                hosted -> hosted.stream().flush());
    }

    private static long onSessionRunEnd(long struct) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtSyncStreamImpl::OnSessionRunEnd",
                hosted -> hosted.stream().onSessionRunEnd());
    }
}
