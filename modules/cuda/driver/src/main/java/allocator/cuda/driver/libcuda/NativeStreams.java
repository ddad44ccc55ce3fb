package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.CudaStreams;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** {@link CudaStreams} of the installed driver. */
record NativeStreams(Contexts contexts) implements CudaStreams {
    @Override
    public long streamCreate(int device) {
        final JCudaPointers.Stream stream = new JCudaPointers.Stream();
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.STREAM_CREATE,
                cell -> Results.ofJCuda(
                        () -> JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING)));
        Results.check(result, CudaFunction.STREAM_CREATE, "device=%d", device);
        return stream.handle();
    }

    @Override
    public void streamDestroy(int device, long stream) {
        final int result = stream == 0
                ? CudaResult.INVALID_HANDLE
                : contexts.runRelaxed(
                        device, CudaFunction.STREAM_DESTROY, cell -> LibCuda.call(LibCuda.STREAM_DESTROY, stream));
        Results.check(result, CudaFunction.STREAM_DESTROY, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public void streamSynchronize(int device, long stream) {
        final long previous = contexts.enter(device, CudaFunction.STREAM_SYNCHRONIZE);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.STREAM_SYNCHRONIZE, stream);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        Results.check(result, CudaFunction.STREAM_SYNCHRONIZE, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        final long previous = contexts.enter(device, CudaFunction.STREAM_QUERY);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.STREAM_QUERY, stream);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS && result != CudaResult.NOT_READY) {
            throw Results.failure(result, CudaFunction.STREAM_QUERY, "device=%d, stream=%#x", device, stream);
        }
        return result == CudaResult.SUCCESS;
    }

    @Override
    public long streamGetId(int device, long stream) {
        final long[] id = new long[1];
        final int result = contexts.run(
                device,
                CudaFunction.STREAM_GET_ID,
                cell -> OutCell.readLong(LibCuda.call(LibCuda.STREAM_GET_ID, stream, OutCell.address(cell)), cell, id));
        Results.check(result, CudaFunction.STREAM_GET_ID, "device=%d, stream=%#x", device, stream);
        return id[0];
    }

    @Override
    public long streamGetCtx(int device, long stream) {
        final long[] context = new long[1];
        final int result = contexts.run(
                device,
                CudaFunction.STREAM_GET_CTX,
                cell -> OutCell.readLong(
                        LibCuda.call(LibCuda.STREAM_GET_CTX, stream, OutCell.address(cell)), cell, context));
        Results.check(result, CudaFunction.STREAM_GET_CTX, "device=%d, stream=%#x", device, stream);
        return context[0];
    }

    @Override
    public boolean streamIsCapturing(int device, long stream) {
        final int cell = OutCell.take();
        try {
            final long previous = contexts.enter(device, cell, CudaFunction.STREAM_IS_CAPTURING);
            final int result = LibCuda.call(LibCuda.STREAM_IS_CAPTURING, stream, OutCell.address(cell));
            contexts.leave(device, previous);
            if (result == CudaResult.STREAM_CAPTURE_IMPLICIT) {
                return true;
            }
            if (result != CudaResult.SUCCESS) {
                throw Results.failure(
                        result, CudaFunction.STREAM_IS_CAPTURING, "device=%d, stream=%#x", device, stream);
            }
            return OutCell.getInt(cell) != 0;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void streamBeginCapture(int device, long stream) {
        final int result = contexts.run(
                device,
                CudaFunction.STREAM_BEGIN_CAPTURE,
                cell -> LibCuda.callWithInt(LibCuda.STREAM_BEGIN_CAPTURE, stream, CaptureMode.GLOBAL));
        Results.check(result, CudaFunction.STREAM_BEGIN_CAPTURE, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public long streamEndCapture(int device, long stream) {
        final long[] graph = new long[1];
        final int result = contexts.run(
                device,
                CudaFunction.STREAM_END_CAPTURE,
                cell -> OutCell.readLong(
                        LibCuda.call(LibCuda.STREAM_END_CAPTURE, stream, OutCell.address(cell)), cell, graph));
        Results.check(result, CudaFunction.STREAM_END_CAPTURE, "device=%d, stream=%#x", device, stream);
        return graph[0];
    }

    @Override
    public void graphDestroy(int device, long graph) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.GRAPH_DESTROY, cell -> LibCuda.call(LibCuda.GRAPH_DESTROY, graph));
        Results.check(result, CudaFunction.GRAPH_DESTROY, "device=%d, graph=%#x", device, graph);
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        final long previous = contexts.enter(device, CudaFunction.STREAM_WAIT_EVENT);
        final int result = LibCuda.callWithInt(LibCuda.STREAM_WAIT_EVENT, stream, event, 0);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw Results.failure(
                    result, CudaFunction.STREAM_WAIT_EVENT, "device=%d, stream=%#x, event=%#x", device, stream, event);
        }
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        final long number = HostFunctions.add(function);
        int result = CudaResult.INVALID_VALUE;
        try {
            result = contexts.run(
                    device,
                    CudaFunction.LAUNCH_HOST_FUNC,
                    cell -> LibCuda.call(LibCuda.LAUNCH_HOST_FUNC, stream, HostFunctions.ENTRY, number));
        } finally {
            if (result != CudaResult.SUCCESS) {
                HostFunctions.remove(number);
            }
        }
        Results.check(result, CudaFunction.LAUNCH_HOST_FUNC, "device=%d, stream=%#x", device, stream);
    }

    @Override
    public long eventCreate(int device) {
        final JCudaPointers.Event event = new JCudaPointers.Event();
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.EVENT_CREATE,
                cell -> Results.ofJCuda(() -> JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING)));
        Results.check(result, CudaFunction.EVENT_CREATE, "device=%d", device);
        return event.handle();
    }

    @Override
    public void eventDestroy(int device, long event) {
        final int result = contexts.runRelaxed(
                device, CudaFunction.EVENT_DESTROY, cell -> LibCuda.call(LibCuda.EVENT_DESTROY, event));
        Results.check(result, CudaFunction.EVENT_DESTROY, "device=%d, event=%#x", device, event);
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        final long previous = contexts.enter(device, CudaFunction.EVENT_RECORD);
        final int result = LibCuda.call(LibCuda.EVENT_RECORD, event, stream);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS) {
            throw Results.failure(
                    result, CudaFunction.EVENT_RECORD, "device=%d, event=%#x, stream=%#x", device, event, stream);
        }
    }

    @Override
    public boolean eventQuery(int device, long event) {
        final long previous = contexts.enter(device, CudaFunction.EVENT_QUERY);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.EVENT_QUERY, event);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        if (result != CudaResult.SUCCESS && result != CudaResult.NOT_READY) {
            throw Results.failure(result, CudaFunction.EVENT_QUERY, "device=%d, event=%#x", device, event);
        }
        return result == CudaResult.SUCCESS;
    }

    @Override
    public void eventSynchronize(int device, long event) {
        final long previous = contexts.enter(device, CudaFunction.EVENT_SYNCHRONIZE);
        final int mode = CaptureMode.enterRelaxed();
        final int result = LibCuda.call(LibCuda.EVENT_SYNCHRONIZE, event);
        CaptureMode.leave(mode);
        contexts.leave(device, previous);
        Results.check(result, CudaFunction.EVENT_SYNCHRONIZE, "device=%d, event=%#x", device, event);
    }
}
