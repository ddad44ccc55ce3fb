package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.CudaStreams;

/** {@link CudaStreams} of a simulated machine. */
final class SimulatedStreams implements CudaStreams {
    private final Calls calls;
    private final Streams streams;
    private final Scheduler scheduler;

    SimulatedStreams(Calls calls, Streams streams, Scheduler scheduler) {
        this.calls = calls;
        this.streams = streams;
        this.scheduler = scheduler;
    }

    @Override
    public long streamCreate(int device) {
        return calls.get(
                CudaFunction.STREAM_CREATE, device, () -> "device=" + device, () -> streams.create(device).handle);
    }

    @Override
    public void streamDestroy(int device, long stream) {
        calls.run(
                CudaFunction.STREAM_DESTROY,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.destroy(streams.find(stream, device)));
    }

    @Override
    public void streamSynchronize(int device, long stream) {
        calls.run(
                CudaFunction.STREAM_SYNCHRONIZE,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> {
                    final StreamQueue queue = streams.queue(calls.device(device), stream);
                    queue.requireNotCaptured(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
                    scheduler.drain(queue, queue.submitted);
                    calls.device(device).synchronizePools();
                });
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        return calls.get(
                        CudaFunction.STREAM_QUERY,
                        device,
                        () -> "device=%d, stream=%#x".formatted(device, stream),
                        () -> {
                            final StreamQueue queue = streams.queue(calls.device(device), stream);
                            queue.requireNotCaptured(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
                            return queue.isIdle() ? 1L : 0L;
                        })
                != 0;
    }

    @Override
    public long streamGetId(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_GET_ID,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.queue(calls.device(device), stream).id);
    }

    @Override
    public long streamGetCtx(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_GET_CTX,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> (stream == 0 ? calls.device(device) : calls.device(streams.find(stream).device)).context);
    }

    @Override
    public boolean streamIsCapturing(int device, long stream) {
        return calls.get(
                        CudaFunction.STREAM_IS_CAPTURING,
                        device,
                        () -> "device=%d, stream=%#x".formatted(device, stream),
                        () -> streams.queue(calls.device(device), stream).capture == null ? 0L : 1L)
                != 0;
    }

    @Override
    public void streamBeginCapture(int device, long stream) {
        calls.run(
                CudaFunction.STREAM_BEGIN_CAPTURE,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.beginCapture(streams.find(stream, device)));
    }

    @Override
    public long streamEndCapture(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_END_CAPTURE,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> streams.endCapture(streams.find(stream, device)));
    }

    @Override
    public void graphDestroy(int device, long graph) {
        calls.run(
                CudaFunction.GRAPH_DESTROY,
                device,
                () -> "device=%d, graph=%#x".formatted(device, graph),
                () -> streams.destroyGraph(graph, device));
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        calls.run(
                CudaFunction.STREAM_WAIT_EVENT,
                device,
                () -> "device=%d, stream=%#x, event=%#x".formatted(device, stream, event),
                () -> scheduler.waitFor(streams.queue(calls.device(device), stream), streams.findEvent(event)));
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        calls.run(
                CudaFunction.LAUNCH_HOST_FUNC,
                device,
                () -> "device=%d, stream=%#x".formatted(device, stream),
                () -> scheduler.submitHostFunction(streams.queue(calls.device(device), stream), function));
    }

    @Override
    public long eventCreate(int device) {
        return calls.get(
                CudaFunction.EVENT_CREATE, device, () -> "device=" + device, () -> streams.createEvent(device).handle);
    }

    @Override
    public void eventDestroy(int device, long event) {
        calls.run(
                CudaFunction.EVENT_DESTROY,
                device,
                () -> "device=%d, event=%#x".formatted(device, event),
                () -> streams.destroyEvent(streams.findEvent(event, device)));
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        calls.run(
                CudaFunction.EVENT_RECORD,
                device,
                () -> "device=%d, event=%#x, stream=%#x".formatted(device, event, stream),
                () -> scheduler.record(streams.findEvent(event, device), streams.queue(calls.device(device), stream)));
    }

    @Override
    public boolean eventQuery(int device, long event) {
        return calls.get(
                        CudaFunction.EVENT_QUERY, device, () -> "device=%d, event=%#x".formatted(device, event), () -> {
                            final Streams.Event target = streams.findEvent(event, device);
                            target.requireNotCaptured();
                            return target.isDone() ? 1L : 0L;
                        })
                != 0;
    }

    @Override
    public void eventSynchronize(int device, long event) {
        calls.run(CudaFunction.EVENT_SYNCHRONIZE, device, () -> "device=%d, event=%#x".formatted(device, event), () -> {
            final Streams.Event target = streams.findEvent(event, device);
            target.requireNotCaptured();
            if (target.recordedOn != null) {
                scheduler.drain(target.recordedOn, target.recordedAt);
            }
            calls.device(device).synchronizePools();
        });
    }
}
