package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
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

    /**
     * The arguments of a call.
     *
     * @param device the ordinal of the device
     * @param text all of them, as the exception of the call shows them
     */
    record Arguments(int device, Supplier<String> text) {}

    /** Returns the arguments of a call that has a device only. */
    static Arguments on(int device) {
        return new Arguments(device, () -> "device=" + device);
    }

    /** Returns the arguments of a call: a device, and others with their format. */
    @SuppressWarnings("AnnotateFormatMethod") // the annotation would be another dependency
    static Arguments on(int device, String format, Object... others) {
        return new Arguments(device, () -> "device=" + device + ", " + format.formatted(others));
    }

    /** Makes a call that returns nothing and needs the device's context. */
    void run(CudaFunction function, Arguments arguments, Runnable body) {
        get(function, arguments, () -> {
            body.run();
            return 0;
        });
    }

    /** Makes a call that answers yes or no and needs the device's context. */
    boolean test(CudaFunction function, Arguments arguments, BooleanSupplier body) {
        return get(function, arguments, () -> body.getAsBoolean() ? 1 : 0) != 0;
    }

    /** Makes a call that returns a value and needs the device's context. */
    long get(CudaFunction function, Arguments arguments, LongSupplier body) {
        return getWithoutContext(function, arguments, () -> {
            requireContext(arguments.device);
            return body.getAsLong();
        });
    }

    /** Makes a call that returns a value and needs no context. */
    long getWithoutContext(CudaFunction function, Arguments arguments, LongSupplier body) {
        lock.lock();
        try {
            if (isClosed) {
                throw new CallFailure(CudaResult.DEINITIALIZED);
            }
            if (scheduler.isInHostFunction()) {
                throw new CallFailure(CudaResult.NOT_PERMITTED);
            }
            plan.count(function);
            device(arguments.device);
            return body.getAsLong();
        } catch (CallFailure e) {
            throw e.of(function, arguments.text.get());
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
