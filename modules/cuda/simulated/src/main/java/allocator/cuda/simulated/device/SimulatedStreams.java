package allocator.cuda.simulated.device;

import static allocator.cuda.simulated.device.Calls.on;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.CudaStreams;

/** {@link CudaStreams} of a simulated machine. */
record SimulatedStreams(Calls calls, Streams streams, Scheduler scheduler) implements CudaStreams {
    @Override
    public long streamCreate(int device) {
        return calls.get(CudaFunction.STREAM_CREATE, on(device), () -> streams.create(device).handle);
    }

    @Override
    public void streamDestroy(int device, long stream) {
        calls.run(
                CudaFunction.STREAM_DESTROY,
                on(device, "stream=%#x", stream),
                () -> streams.destroy(streams.find(stream, device)));
    }

    @Override
    public void streamSynchronize(int device, long stream) {
        calls.run(CudaFunction.STREAM_SYNCHRONIZE, on(device, "stream=%#x", stream), () -> {
            final StreamQueue queue = streams.queue(calls.device(device), stream);
            queue.requireNotCaptured(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
            scheduler.drain(queue, queue.submitted);
            calls.device(device).synchronizePools();
        });
    }

    @Override
    public boolean streamQuery(int device, long stream) {
        return calls.test(CudaFunction.STREAM_QUERY, on(device, "stream=%#x", stream), () -> {
            final StreamQueue queue = streams.queue(calls.device(device), stream);
            queue.requireNotCaptured(CudaResult.STREAM_CAPTURE_UNSUPPORTED);
            return queue.isIdle();
        });
    }

    @Override
    public long streamGetId(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_GET_ID,
                on(device, "stream=%#x", stream),
                () -> streams.queue(calls.device(device), stream).identity());
    }

    @Override
    public long streamGetCtx(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_GET_CTX,
                on(device, "stream=%#x", stream),
                () -> (stream == 0 ? calls.device(device) : calls.device(streams.find(stream).device)).context);
    }

    @Override
    public boolean streamIsCapturing(int device, long stream) {
        return calls.test(
                CudaFunction.STREAM_IS_CAPTURING,
                on(device, "stream=%#x", stream),
                () -> streams.queue(calls.device(device), stream).capture != null);
    }

    @Override
    public void streamBeginCapture(int device, long stream) {
        calls.run(
                CudaFunction.STREAM_BEGIN_CAPTURE,
                on(device, "stream=%#x", stream),
                () -> streams.beginCapture(streams.find(stream, device)));
    }

    @Override
    public long streamEndCapture(int device, long stream) {
        return calls.get(
                CudaFunction.STREAM_END_CAPTURE,
                on(device, "stream=%#x", stream),
                () -> streams.endCapture(streams.find(stream, device)));
    }

    @Override
    public void graphDestroy(int device, long graph) {
        calls.run(
                CudaFunction.GRAPH_DESTROY, on(device, "graph=%#x", graph), () -> streams.destroyGraph(graph, device));
    }

    @Override
    public void streamWaitEvent(int device, long stream, long event) {
        calls.run(
                CudaFunction.STREAM_WAIT_EVENT,
                on(device, "stream=%#x, event=%#x", stream, event),
                () -> scheduler.waitFor(streams.queue(calls.device(device), stream), streams.findEvent(event)));
    }

    @Override
    public void launchHostFunction(int device, long stream, Runnable function) {
        calls.run(
                CudaFunction.LAUNCH_HOST_FUNC,
                on(device, "stream=%#x", stream),
                () -> scheduler.submitHostFunction(streams.queue(calls.device(device), stream), function));
    }

    @Override
    public long eventCreate(int device) {
        return calls.get(CudaFunction.EVENT_CREATE, on(device), () -> streams.createEvent(device).handle);
    }

    @Override
    public void eventDestroy(int device, long event) {
        calls.run(
                CudaFunction.EVENT_DESTROY,
                on(device, "event=%#x", event),
                () -> streams.destroyEvent(streams.findEvent(event, device)));
    }

    @Override
    public void eventRecord(int device, long event, long stream) {
        calls.run(
                CudaFunction.EVENT_RECORD,
                on(device, "event=%#x, stream=%#x", event, stream),
                () -> scheduler.record(streams.findEvent(event, device), streams.queue(calls.device(device), stream)));
    }

    @Override
    public boolean eventQuery(int device, long event) {
        return calls.test(CudaFunction.EVENT_QUERY, on(device, "event=%#x", event), () -> {
            final Streams.Event target = streams.findEvent(event, device);
            target.requireNotCaptured();
            return target.isDone();
        });
    }

    @Override
    public void eventSynchronize(int device, long event) {
        calls.run(CudaFunction.EVENT_SYNCHRONIZE, on(device, "event=%#x", event), () -> {
            final Streams.Event target = streams.findEvent(event, device);
            target.requireNotCaptured();
            if (target.recordedOn != null) {
                scheduler.drain(target.recordedOn, target.recordedAt);
            }
            calls.device(device).synchronizePools();
        });
    }
}
