package allocator.cuda.simulated.device;

import allocator.provider.support.StackReserve;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The stack of a call that is a native one on a real device, and so does not end half way. */
final class NativeStack {
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
