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

/** The {@code OrtSyncNotificationImpl}s of plug-in providers. */
@SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // The methods that native code calls have no caller in Java.
final class NotificationStruct {
    private static final NativeObjects<HostedNotification> OBJECTS =
            new NativeObjects<>(EpStructs.BYTE_SIZE, NotificationStruct::fill);

    private NotificationStruct() {}

    /** The functions, made on first use. */
    private static final class Functions {
        private static final Lookup IN = MethodHandles.lookup().in(NotificationStruct.class);
        static final MemorySegment RELEASE = Upcalls.stub(IN, "release", 1);
        static final MemorySegment ACTIVATE = Guard.statusStub(IN, "activate", 1);
        static final MemorySegment WAIT_ON_DEVICE = Guard.statusStub(IN, "waitOnDevice", 2);
        static final MemorySegment WAIT_ON_HOST = Guard.statusStub(IN, "waitOnHost", 1);
    }

    private static void fill(HostedNotification notification, MemorySegment struct) {
        struct.set(JAVA_INT, EpStructs.STRUCT_VERSION, EpStructs.VERSION);
        struct.set(ADDRESS, EpStructs.SyncNotification.RELEASE, Functions.RELEASE);
        struct.set(ADDRESS, EpStructs.SyncNotification.ACTIVATE, Functions.ACTIVATE);
        struct.set(ADDRESS, EpStructs.SyncNotification.WAIT_ON_DEVICE, Functions.WAIT_ON_DEVICE);
        struct.set(ADDRESS, EpStructs.SyncNotification.WAIT_ON_HOST, Functions.WAIT_ON_HOST);
    }

    /** Makes the struct of a notification. */
    static long add(HostedNotification notification) {
        return OBJECTS.add(notification);
    }

    private static long release(long struct) {
        return Guard.run(OBJECTS, struct, "OrtSyncNotificationImpl::Release", hosted -> {
            OBJECTS.remove(struct);
            hosted.notification().close();
        });
    }

    private static long activate(long struct) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtSyncNotificationImpl::Activate",
                hosted -> hosted.notification().activate());
    }

    private static long waitOnDevice(long struct, long stream) {
        return Guard.status(
                OBJECTS, struct, "OrtSyncNotificationImpl::WaitOnDevice", hosted -> hosted.waitOnDevice(stream));
    }

    private static long waitOnHost(long struct) {
        return Guard.status(
                OBJECTS,
                struct,
                "OrtSyncNotificationImpl::WaitOnHost",
                hosted -> hosted.notification().waitOnHost());
    }
}
