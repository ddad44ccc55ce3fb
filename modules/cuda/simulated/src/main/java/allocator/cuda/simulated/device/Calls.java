package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.provider.support.StackReserve;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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

    /**
     * Makes a call that returns a value and needs no context.
     *
     * <p>As in a native function, the stack does not end half way: the call is made on this thread's stack if there is
     * enough of it, and otherwise on a stack of its own.
     *
     * @throws StackOverflowError if this thread has no stack left at all; the call has not begun
     */
    long getWithoutContext(CudaFunction function, int device, Supplier<String> arguments, LongSupplier body) {
        return NativeStack.call(() -> getHere(function, device, arguments, body));
    }

    private long getHere(CudaFunction function, int device, Supplier<String> arguments, LongSupplier body) {
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

    /** The stack of a call that is a native one on a real device, and so does not end half way. */
    private static final class NativeStack {
        private static final long BYTES = 1L << 20;

        private NativeStack() {}

        /**
         * Makes a call where there is stack for it: on this thread, or on a thread of its own.
         *
         * @throws StackOverflowError if no thread can be started, as too little stack is left; the call has not begun
         */
        static long call(LongSupplier call) {
            return isDeep() ? call.getAsLong() : callOnOwnStack(call);
        }

        private static boolean isDeep() {
            try {
                StackReserve.touchDeep();
                return true;
            } catch (StackOverflowError e) {
                return false;
            }
        }

        private static long callOnOwnStack(LongSupplier call) {
            final Outcome outcome = new Outcome(call);
            StackReserve.runOnOwnStack("simulated-driver", BYTES, outcome);
            return outcome.get();
        }

        /** What a call on another thread has returned or thrown. */
        private static final class Outcome implements Runnable {
            private final LongSupplier call;
            private long result;
            private @Nullable Throwable thrown;

            Outcome(LongSupplier call) {
                this.call = call;
            }

            @Override
            public void run() {
                try {
                    result = call.getAsLong();
                } catch (Throwable e) {
                    thrown = e;
                }
            }

            long get() {
                if (thrown != null) {
                    Outcome.<RuntimeException>rethrow(thrown);
                }
                return result;
            }

            @SuppressWarnings("unchecked")
            private static <T extends Throwable> void rethrow(Throwable thrown) throws T {
                throw (T) thrown;
            }
        }
    }
}
