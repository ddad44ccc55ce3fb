package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams and copies of a provider, through ONNX Runtime's C API. */
class StreamsTest {
    private static final int COUNT = 5;

    private final DisguisedGpu provider = new DisguisedGpu();
    private PluginLibrary library = null;
    private long device;
    private long allocator;

    @BeforeEach
    void register() {
        library = PluginLibrary.register(OrtEnvironment.getEnvironment(), provider);
        device = NativeOrt.device(DisguisedGpu.NAME);
        allocator = NativeOrt.sharedAllocator(NativeOrt.memoryInfo(device, NativeOrt.DEFAULT));
    }

    @AfterEach
    void close() {
        library.close();
        provider.close();
    }

    @Test
    void aStreamOfOnnxRuntimeIsOneOfTheProvider() {
        final long stream = NativeOrt.createStream(device);
        final SyncStream own = provider.streams().getLast();
        assertThat(NativeOrt.streamHandle(stream)).isEqualTo(own.handle());
        assertThatThrownBy(library::close).hasMessageContaining("1 open stream (release it first)");
        NativeOrt.releaseStream(stream);
        assertThat(own.hasEnded()).isTrue();
    }

    @Test
    void anAllocationOnAStreamReachesTheProviderWithItsStream() {
        final long stream = NativeOrt.createStream(device);
        final long block = NativeOrt.callMember(allocator, OrtAllocatorLayout.ALLOC_ON_STREAM, 1000, stream);
        assertThat(provider.allocatedOn()).containsExactly(provider.streams().getLast());
        NativeOrt.free(allocator, block);
        NativeOrt.releaseStream(stream);
        assertThat(library.failures()).isZero();
    }

    /** ONNX Runtime makes notifications within sessions only, so the struct is called as it calls it. */
    @Test
    void aStreamWaitsForANotificationOfAnother() {
        final long producer = NativeOrt.createStream(device);
        final long consumer = NativeOrt.createStream(device);
        final SyncStream first = provider.streams().getFirst();
        final SyncStream second = provider.streams().getLast();
        final long impl = EpApi.get().invoke(EpFunction.SYNC_STREAM_GET_IMPL, producer);
        final long notification = NativeOrt.resultOf(impl, EpStructs.SyncStream.CREATE_NOTIFICATION);
        assertThat(NativeOrt.callMember(notification, EpStructs.SyncNotification.ACTIVATE))
                .isZero();
        assertThat(second.lastWaitedSyncId(first)).isZero();
        assertThat(NativeOrt.callMember(notification, EpStructs.SyncNotification.WAIT_ON_DEVICE, consumer))
                .isZero();
        assertThat(second.lastWaitedSyncId(first)).isEqualTo(first.syncId()).isOne();
        assertThat(NativeOrt.callMember(notification, EpStructs.SyncNotification.WAIT_ON_HOST))
                .isZero();
        assertThat(NativeOrt.callMember(impl, EpStructs.SyncStream.FLUSH)).isZero();
        assertThat(NativeOrt.callMember(impl, EpStructs.SyncStream.ON_SESSION_RUN_END))
                .isZero();
        final long ignored = NativeOrt.callMember(notification, EpStructs.SyncNotification.RELEASE);
        NativeOrt.releaseStream(consumer);
        NativeOrt.releaseStream(producer);
        assertThat(library.failures()).isZero();
    }

    @Test
    void aNotificationThatWasNotActivatedIsAStatus() {
        final long stream = NativeOrt.createStream(device);
        final long impl = EpApi.get().invoke(EpFunction.SYNC_STREAM_GET_IMPL, stream);
        final long notification = NativeOrt.resultOf(impl, EpStructs.SyncStream.CREATE_NOTIFICATION);
        final long status = NativeOrt.callMember(notification, EpStructs.SyncNotification.WAIT_ON_HOST);
        assertThat(NativeOrt.api().failure("WaitOnHost", status)).hasMessageContaining("before it was activated");
        final long ignored = NativeOrt.callMember(notification, EpStructs.SyncNotification.RELEASE);
        NativeOrt.releaseStream(stream);
    }

    @Test
    void tensorsAreCopiedToTheDeviceAndBack() {
        final long cpu = NativeOrt.cpuAllocator();
        final long from = NativeOrt.tensor(cpu, COUNT);
        final long onDevice = NativeOrt.tensor(allocator, COUNT);
        final long back = NativeOrt.tensor(cpu, COUNT);
        NativeOrt.fill(from, 1, 2, 3, 4, 5);
        NativeOrt.copy(from, onDevice, 0);
        NativeOrt.copy(onDevice, back, 0);
        assertThat(NativeOrt.elements(back, COUNT).toArray(java.lang.foreign.ValueLayout.JAVA_FLOAT))
                .containsExactly(1, 2, 3, 4, 5);
        assertThat(provider.copies()).containsExactly("cpu:0 > gpu:0", "gpu:0 > cpu:0");
        NativeOrt.releaseTensor(from);
        NativeOrt.releaseTensor(onDevice);
        NativeOrt.releaseTensor(back);
    }

    @Test
    void aCopyOnAStreamIsOrderedOnIt() {
        final long stream = NativeOrt.createStream(device);
        final long from = NativeOrt.tensor(NativeOrt.cpuAllocator(), COUNT);
        final long onDevice = NativeOrt.tensor(allocator, COUNT);
        NativeOrt.fill(from, 5, 4, 3, 2, 1);
        NativeOrt.copy(from, onDevice, stream);
        assertThat(provider.copies())
                .containsExactly(
                        "cpu:0 > gpu:0 on " + provider.streams().getLast().id());
        NativeOrt.releaseTensor(from);
        NativeOrt.releaseTensor(onDevice);
        NativeOrt.releaseStream(stream);
        assertThat(library.failures()).isZero();
    }
}
