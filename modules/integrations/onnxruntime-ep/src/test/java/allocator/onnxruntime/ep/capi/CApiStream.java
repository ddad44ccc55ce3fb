package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.provider.support.UseGuard;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongUnaryOperator;

/**
 * An {@code OrtSyncStream}. The C API creates, copies on and releases streams; the rest is done as ONNX Runtime's
 * sessions do it, through the stream's {@code OrtSyncStreamImpl}.
 */
final class CApiStream extends SyncStream {
    private final CApiLibrary library;
    private final Runnable closed;
    private final long ortStream;
    private final long impl;
    private final long handle;
    private final UseGuard guard = new UseGuard();

    /**
     * Creates a stream on the device of a memory.
     *
     * @param closed called once it is closed
     */
    CApiStream(CApiLibrary library, CApiMemory memory, Runnable closed) {
        super(memory.info());
        this.library = library;
        this.closed = closed;
        ortStream = create(library, memory);
        impl = EpApi.get().invoke(EpFunction.SYNC_STREAM_GET_IMPL, ortStream);
        handle = CApi.invoke(CApi.Function.SYNC_STREAM_GET_HANDLE, ortStream);
    }

    private static long create(CApiLibrary library, CApiMemory memory) {
        return library.errors().get(() -> CApi.get(CApi.Function.CREATE_SYNC_STREAM_FOR_EP_DEVICE, memory.device(), 0));
    }

    /** Uses the {@code OrtSyncStream}, which stays open meanwhile. */
    long use(LongUnaryOperator call) {
        if (!guard.tryEnter()) {
            throw new IllegalStateException(this + " is closed");
        }
        try {
            return call.applyAsLong(ortStream);
        } finally {
            guard.exit();
        }
    }

    private void call(long struct, int member, long... arguments) {
        library.errors().run(() -> {
            final long status = CApi.callMember(struct, member, arguments);
            if (status != 0) {
                throw CApi.ort().failure("member " + member + " of a stream", status);
            }
        });
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public SyncNotification createNotification() {
        return new Notification(use(_ -> {
            try (Arena scratch = Arena.ofConfined()) {
                final MemorySegment out = scratch.allocate(JAVA_LONG);
                call(impl, EpStructs.SyncStream.CREATE_NOTIFICATION, out.address());
                return out.get(JAVA_LONG, 0);
            }
        }));
    }

    @Override
    public void flush() {
        final long ignored = use(_ -> {
            call(impl, EpStructs.SyncStream.FLUSH);
            return 0;
        });
    }

    @Override
    public void onSessionRunEnd() {
        final long ignored = use(_ -> {
            call(impl, EpStructs.SyncStream.ON_SESSION_RUN_END);
            return 0;
        });
    }

    @Override
    public void close() {
        if (guard.close()) {
            try {
                library.errors().run(() -> {
                    CApi.release(CApi.Function.RELEASE_SYNC_STREAM, ortStream);
                });
                setEnded();
            } finally {
                closed.run();
            }
        }
    }

    /** A notification of the stream. */
    private final class Notification extends SyncNotification {
        private final long struct;
        private final UseGuard open = new UseGuard();

        Notification(long struct) {
            super(CApiStream.this);
            this.struct = struct;
        }

        private void callOpen(int member, long... arguments) {
            if (!open.tryEnter()) {
                throw new IllegalStateException("the notification is closed");
            }
            try {
                call(struct, member, arguments);
            } finally {
                open.exit();
            }
        }

        @Override
        protected void record() {
            callOpen(EpStructs.SyncNotification.ACTIVATE);
        }

        @Override
        protected void enqueueWait(SyncStream consumer) {
            if (!(consumer instanceof CApiStream own)) {
                throw new IllegalArgumentException(consumer + " is not of ONNX Runtime");
            }
            final long ignored = own.use(ortConsumer -> {
                callOpen(EpStructs.SyncNotification.WAIT_ON_DEVICE, ortConsumer);
                return 0;
            });
        }

        @Override
        protected void await() {
            callOpen(EpStructs.SyncNotification.WAIT_ON_HOST);
        }

        @Override
        public void close() {
            if (open.close()) {
                library.errors().run(() -> {
                    final long ignored = CApi.callMember(struct, EpStructs.SyncNotification.RELEASE);
                });
            }
        }
    }
}
