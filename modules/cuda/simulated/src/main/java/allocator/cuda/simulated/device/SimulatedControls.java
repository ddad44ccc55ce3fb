package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.TestControls;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** {@link TestControls} of a machine. */
record SimulatedControls(
        ReentrantLock lock,
        FailurePlan plan,
        Streams streams,
        Scheduler scheduler,
        HazardDetector detector,
        Supplier<List<String>> left)
        implements TestControls {
    private <T> T locked(Supplier<T> body) {
        lock.lock();
        try {
            return body.get();
        } finally {
            lock.unlock();
        }
    }

    private void runLocked(Runnable body) {
        lock.lock();
        try {
            body.run();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int advance(long stream) {
        return locked(() -> {
            try {
                return scheduler.advance(streams.find(stream));
            } catch (CallFailure e) {
                throw new IllegalArgumentException("no stream %#x".formatted(stream), e);
            }
        });
    }

    @Override
    public void advanceAll() {
        runLocked(scheduler::drainAll);
    }

    @Override
    public void failOnCall(long number, int result) {
        runLocked(() -> plan.failOnCall(number, result));
    }

    @Override
    public void failOnCall(CudaFunction function, long number, int result) {
        runLocked(() -> plan.failOnCall(function, number, result));
    }

    @Override
    public void failAlways(CudaFunction function, int result) {
        runLocked(() -> plan.failAlways(function, result));
    }

    @Override
    public void clearFailures() {
        runLocked(plan::clear);
    }

    @Override
    public long calls() {
        return locked(plan::total);
    }

    @Override
    public long calls(CudaFunction function) {
        return locked(() -> plan.calls(function));
    }

    @Override
    public List<String> hazards() {
        return locked(() -> List.copyOf(detector.found()));
    }

    @Override
    public List<String> takeHazards() {
        return locked(() -> {
            final List<String> taken = List.copyOf(detector.found());
            detector.found().clear();
            return taken;
        });
    }

    @Override
    public List<String> leaks() {
        return locked(left);
    }
}
