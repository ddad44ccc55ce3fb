package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryRange;

/**
 * The copies of a provider.
 *
 * @param factory the provider
 * @param transfer its copies
 */
record HostedTransfer(HostedFactory factory, DataTransfer transfer) implements Hosted {
    @Override
    public FailureSink failures() {
        return factory.failures();
    }

    /** Returns whether it can copy from one {@code OrtMemoryDevice} to another. */
    boolean canCopy(long source, long target) {
        return transfer.canCopy(
                factory.devices().infoOf(source), factory.devices().infoOf(target));
    }

    /**
     * Copies tensors.
     *
     * @param sources an array of {@code OrtValue}s
     * @param targets an array of {@code OrtValue}s
     * @param streams an array of {@code OrtSyncStream}s, of which any may be null; may be null itself
     * @param count the number of elements
     */
    void copy(long sources, long targets, long streams, long count) {
        for (long i = 0; i < count; i++) {
            final long stream = streams == 0 ? 0 : EpApi.element(streams, i);
            transfer.copy(
                    range(EpApi.element(sources, i)),
                    range(EpApi.element(targets, i)),
                    stream == 0 ? null : StreamStruct.streamOf(stream));
        }
    }

    private MemoryRange range(long value) {
        final EpApi api = EpApi.get();
        final long byteSize = api.get(EpFunction.GET_TENSOR_SIZE_IN_BYTES, value);
        return new MemoryRange(
                factory.devices().infoOf(api.invoke(EpFunction.VALUE_GET_MEMORY_DEVICE, value)),
                byteSize == 0 ? 0 : api.get(EpFunction.GET_TENSOR_DATA, value),
                byteSize);
    }
}
