package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** What all calls have in common: each takes the lock, is counted, may fail as planned, and checks its device. */
final class Calls {
    private final ReentrantLock lock;
    private final Device[] devices;
    private final Scheduler scheduler;
    private final FailurePlan plan;
    private boolean isClosed;

    Calls(ReentrantLock lock, Device[] devices, Scheduler scheduler, FailurePlan plan) {
        this.lock = lock;
        this.devices = devices;
        this.scheduler = scheduler;
        this.plan = plan;
    }

    /** Makes a call that returns nothing and needs the device's context. */
    void run(CudaFunction function, int device, Supplier<String> arguments, Runnable body) {
        get(function, device, arguments, () -> {
            body.run();
            return 0;
        });
    }

    /** Makes a call that returns a value and needs the device's context. */
    long get(CudaFunction function, int device, Supplier<String> arguments, LongSupplier body) {
        return getWithoutContext(function, device, arguments, () -> {
            requireContext(device);
            return body.getAsLong();
        });
    }

    /** Makes a call that returns a value and needs no context. */
    long getWithoutContext(CudaFunction function, int device, Supplier<String> arguments, LongSupplier body) {
        lock.lock();
        try {
            if (isClosed) {
                throw new CallFailure(CudaResult.DEINITIALIZED);
            }
            if (scheduler.isInHostFunction()) {
                throw new CallFailure(CudaResult.NOT_PERMITTED);
            }
            plan.count(function);
            device(device);
            return body.getAsLong();
        } catch (CallFailure e) {
            throw e.of(function, arguments.get());
        } finally {
            lock.unlock();
        }
    }

    Device device(int ordinal) {
        if (ordinal < 0 || ordinal >= devices.length) {
            throw new CallFailure(CudaResult.INVALID_DEVICE);
        }
        return devices[ordinal];
    }

    void requireContext(int ordinal) {
        if (device(ordinal).retained == 0) {
            throw new CallFailure(CudaResult.INVALID_CONTEXT);
        }
    }

    static void requireSupport(boolean isSupported) {
        if (!isSupported) {
            throw new CallFailure(CudaResult.NOT_SUPPORTED);
        }
    }

    /** Returns the number of the current call, counted over all functions. */
    long number() {
        return plan.total();
    }

    /** Makes every later call fail. */
    void close() {
        isClosed = true;
    }

    boolean isClosed() {
        return isClosed;
    }
}
