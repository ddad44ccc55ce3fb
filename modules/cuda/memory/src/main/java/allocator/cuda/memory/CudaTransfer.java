package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.HostSegments;
import allocator.cuda.memory.check.StreamChecks;
import allocator.cuda.memory.check.Submission;
import allocator.provider.support.internal.Copies;
import allocator.provider.support.internal.Failures;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Copies between host memory, pinned or not, and the memory of GPUs.
 *
 * <p>With a stream the copy is queued there. The driver reads pageable host memory before the call returns, and does
 * not return before it has written to it, so that such memory can be let go at once; it pays for that by waiting for
 * the stream. Copies between pinned and other host memory are made by the host, after the stream's work.
 *
 * <p>Without a stream the copy is queued on the device's default stream, and waited for. The driver's synchronous calls
 * would not do: they return from a copy within a device, and from one of little pageable memory, before it is done.
 *
 * @param devices the device of an ordinal, with a context
 * @param isServed whether the factory lists the device of an ordinal
 */
record CudaTransfer(IntFunction<CudaDevice> devices, IntPredicate isServed) implements DataTransfer {
    private static final long DEFAULT_STREAM = 0;

    private enum Place {
        HOST,
        PINNED,
        DEVICE,
        ELSEWHERE;

        static Place of(MemoryInfo memory) {
            if (memory.deviceType() == DeviceType.CPU) {
                return HOST;
            }
            if (memory.deviceType() != DeviceType.GPU || memory.location().vendorId() != CudaDevice.VENDOR_ID) {
                return ELSEWHERE;
            }
            return memory.memoryType() == MemoryType.HOST_ACCESSIBLE ? PINNED : DEVICE;
        }
    }

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        final Place from = Place.of(source);
        final Place to = Place.of(target);
        return from != Place.ELSEWHERE
                && to != Place.ELSEWHERE
                && (from != Place.HOST || to != Place.HOST)
                && (from == Place.HOST || isServed.test(source.deviceOrdinal()))
                && (to == Place.HOST || isServed.test(target.deviceOrdinal()));
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        Copies.requireValid(this, source, target);
        if (stream != null && !(stream instanceof CudaSyncStream)) {
            throw new IllegalArgumentException(stream + " is not a CUDA stream");
        }
        final CudaSyncStream cudaStream = (CudaSyncStream) stream;
        if (source.byteSize() == 0) {
            requireOpen(cudaStream);
            return;
        }
        try {
            if (Place.of(source.memory()) != Place.DEVICE && Place.of(target.memory()) != Place.DEVICE) {
                copyOnHost(source, target, cudaStream);
            } else if (cudaStream == null) {
                final CudaDevice device = workingDevice(source, target);
                check(device.checks(), source, target);
                queue(source, target, device, DEFAULT_STREAM);
                await(device);
            } else {
                copyOn(cudaStream, source, target);
            }
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        }
    }

    /** Waits for a copy. After a failure waits once more: its caller may free the memory then. */
    private static void await(CudaDevice device) {
        try {
            device.synchronizeStream(DEFAULT_STREAM);
        } catch (CudaException first) {
            try {
                device.synchronizeStream(DEFAULT_STREAM);
            } catch (CudaException second) {
                Failures.suppress(first, second);
            }
            throw first;
        }
    }

    private static void requireOpen(@Nullable CudaSyncStream stream) {
        if (stream != null) {
            stream.use();
            stream.endUse();
        }
    }

    private void copyOnHost(MemoryRange source, MemoryRange target, @Nullable CudaSyncStream stream) {
        if (stream != null) {
            stream.flush();
        }
        final MemoryRange pinned = Place.of(target.memory()) == Place.PINNED ? target : source;
        check(devices.apply(pinned.memory().deviceOrdinal()).checks(), source, target);
        HostSegments.at(target.address(), target.byteSize())
                .copyFrom(HostSegments.at(source.address(), source.byteSize()));
    }

    /** Checks a copy that is about to be made and waited for. */
    private static void check(StreamChecks checks, MemoryRange source, MemoryRange target) {
        if (checks.isOn()) {
            checks.use("copy", null, checked(source), checked(target)).close();
        }
    }

    /** Checks a copy that is about to be queued; {@code null} if there is nothing to check. */
    private static @Nullable Submission begin(CudaSyncStream stream, MemoryRange source, MemoryRange target) {
        final StreamChecks checks = stream.checks();
        return checks.isOn() && !stream.isKnownToBeCaptured()
                ? checks.use("copy", stream, checked(source), checked(target))
                : null; // a captured copy is no use: it is made when the graph is launched
    }

    private static StreamChecks.Span checked(MemoryRange range) {
        return Place.of(range.memory()) == Place.HOST
                ? StreamChecks.Span.NONE
                : new StreamChecks.Span(range.address(), range.byteSize());
    }

    private void copyOn(CudaSyncStream stream, MemoryRange source, MemoryRange target) {
        final CudaDevice device = workingDevice(source, target);
        stream.use();
        try {
            if (isOfHost(source) || isOfHost(target) || stream.device().ordinal() != device.ordinal()) {
                // Of a captured copy, the graph would read or write pageable memory whenever it is launched.
                stream.requireReady("copy of pageable memory or to another device; copy before the capture begins");
            }
            try (Submission use = begin(stream, source, target)) {
                if (stream.device().ordinal() == device.ordinal()) {
                    queue(source, target, device, stream.handle());
                    submitted(use);
                } else {
                    queueOnOtherDevice(source, target, device, stream, use);
                }
            }
            if (Place.of(target.memory()) == Place.HOST) {
                stream.checks().done(stream.checks().point(stream)); // the driver has waited for the stream
            }
        } finally {
            stream.endUse();
        }
    }

    private static void submitted(@Nullable Submission use) {
        if (use != null) {
            use.submitted();
        }
    }

    private static boolean isOfHost(MemoryRange range) {
        return Place.of(range.memory()) == Place.HOST;
    }

    /** Copies on a device that is not the stream's: the two wait for each other by events. */
    private void queueOnOtherDevice(
            MemoryRange source,
            MemoryRange target,
            CudaDevice device,
            CudaSyncStream stream,
            @Nullable Submission use) {
        final CudaStreams streams = device.driver().streams();
        final int streamOrdinal = stream.device().ordinal();
        try (CopyEvent before = new CopyEvent(streams, streamOrdinal)) {
            streams.eventRecord(streamOrdinal, before.handle, stream.handle());
            streams.streamWaitEvent(device.ordinal(), DEFAULT_STREAM, before.handle);
        }
        queue(source, target, device, DEFAULT_STREAM);
        submitted(use);
        try (CopyEvent after = new CopyEvent(streams, device.ordinal())) {
            streams.eventRecord(device.ordinal(), after.handle, DEFAULT_STREAM);
            streams.streamWaitEvent(streamOrdinal, stream.handle(), after.handle);
        }
    }

    /** An event for one copy. Its handle comes last, and destroying it allocates nothing here, so that none is lost. */
    private static final class CopyEvent implements AutoCloseable {
        private final CudaStreams streams;
        private final int ordinal;
        private final Runnable destroy = this::destroy;
        private final long handle;

        CopyEvent(CudaStreams streams, int ordinal) {
            this.streams = streams;
            this.ordinal = ordinal;
            handle = streams.eventCreate(ordinal);
        }

        private void destroy() {
            streams.eventDestroy(ordinal, handle);
        }

        @Override
        public void close() {
            DriverCalls.insist(destroy);
        }
    }

    /** The device that copies: the target's, where that is one. */
    private CudaDevice workingDevice(MemoryRange source, MemoryRange target) {
        final MemoryRange onDevice = Place.of(target.memory()) == Place.DEVICE ? target : source;
        return devices.apply(onDevice.memory().deviceOrdinal());
    }

    private void queue(MemoryRange source, MemoryRange target, CudaDevice device, long stream) {
        final CudaMemory memory = device.driver().memory();
        final int ordinal = device.ordinal();
        final long to = target.address();
        final long from = source.address();
        final long byteSize = source.byteSize();
        if (Place.of(source.memory()) != Place.DEVICE) {
            memory.memcpyHtoDAsync(ordinal, to, from, byteSize, stream);
        } else if (Place.of(target.memory()) != Place.DEVICE) {
            memory.memcpyDtoHAsync(ordinal, to, from, byteSize, stream);
        } else if (source.memory().deviceOrdinal() == ordinal) {
            memory.memcpyDtoDAsync(ordinal, to, from, byteSize, stream);
        } else {
            final CudaDevice other = devices.apply(source.memory().deviceOrdinal());
            memory.memcpyPeerAsync(ordinal, to, other.ordinal(), from, byteSize, stream);
        }
    }
}
