package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/** Copies with {@code CopyTensors}: a range is a tensor of bytes over memory of the caller. */
final class CApiTransfer implements DataTransfer {
    private static final int UINT8 = 2;

    /** Where an empty tensor begins: ONNX Runtime takes the null pointer for a tensor without memory. */
    private static final long SOMEWHERE = Arena.global().allocate(64, 64).address();

    private final CApiLibrary library;
    private final long hostInfo = CApiSession.hostInfo();

    CApiTransfer(CApiLibrary library) {
        this.library = library;
    }

    /** Releases the memory info of the host. */
    void close() {
        CApi.ort().release(OrtApi.Function.RELEASE_MEMORY_INFO, hostInfo);
    }

    /** Tries it with nothing: the C API has no question for it. */
    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        if (ortInfo(source) == 0 || ortInfo(target) == 0) {
            return false;
        }
        try {
            copyTensors(new MemoryRange(source, 0, 0), new MemoryRange(target, 0, 0), 0);
            return true;
        } catch (OnnxRuntimeException | UnsupportedMemoryException e) {
            return false;
        }
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        if (!canCopy(source.memory(), target.memory())) {
            throw new UnsupportedMemoryException("no copy from " + source.memory() + " to " + target.memory());
        }
        if (source.byteSize() != target.byteSize()) {
            throw new InvalidSizeException(target.byteSize(), "is not the size of the source, " + source.byteSize());
        }
        if (stream == null) {
            copyTensors(source, target, 0);
        } else if (stream instanceof CApiStream own) {
            final long ignored = own.use(ortStream -> {
                copyTensors(source, target, ortStream);
                return 0;
            });
        } else {
            throw new IllegalArgumentException(stream + " is not of ONNX Runtime");
        }
    }

    private void copyTensors(MemoryRange source, MemoryRange target, long ortStream) {
        library.errors().run(() -> {
            try (Arena scratch = Arena.ofConfined()) {
                final long from = tensor(scratch, source);
                final long to = tensor(scratch, target);
                try {
                    CApi.call(
                            CApi.Function.COPY_TENSORS,
                            EnvironmentReference.handle(),
                            scratch.allocateFrom(JAVA_LONG, from).address(),
                            scratch.allocateFrom(JAVA_LONG, to).address(),
                            ortStream,
                            1);
                } finally {
                    CApi.release(CApi.Function.RELEASE_VALUE, from);
                    CApi.release(CApi.Function.RELEASE_VALUE, to);
                }
            }
        });
    }

    private long tensor(Arena scratch, MemoryRange range) {
        return CApi.get(
                CApi.Function.CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE,
                ortInfo(range.memory()),
                range.address() == 0 ? SOMEWHERE : range.address(),
                range.byteSize(),
                scratch.allocateFrom(JAVA_LONG, range.byteSize()).address(),
                1,
                UINT8);
    }

    /** Returns the {@code OrtMemoryInfo} of a listed memory or of the host; 0 if it is neither. */
    private long ortInfo(MemoryInfo info) {
        final boolean isHost = info.deviceType() == DeviceType.CPU
                && info.deviceOrdinal() == 0
                && info.memoryType() == MemoryType.DEFAULT;
        return library.memory(info.location()).map(CApiMemory::ortInfo).orElse(isHost ? hostInfo : 0L);
    }
}
