package allocator.cuda.driver.libcuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;

/** Functions that the driver has yet to call, each under a number that is passed as its user data. */
final class HostFunctions {
    private static final Logger LOGGER = System.getLogger(HostFunctions.class.getName());
    private static final ConcurrentMap<Long, Runnable> WAITING = new ConcurrentHashMap<>();
    private static final AtomicLong NUMBERS = new AtomicLong();

    /** Address of the machine code that the driver calls for every function. */
    static final long ENTRY = entry();

    private HostFunctions() {}

    static long add(Runnable function) {
        final long number = NUMBERS.incrementAndGet();
        WAITING.put(number, function);
        return number;
    }

    static void remove(long number) {
        WAITING.remove(number);
    }

    /** Called by the driver. An exception that left this method would terminate the JVM. */
    static void run(long number) {
        try {
            final Runnable function = WAITING.remove(number);
            if (function != null) {
                function.run();
            }
        } catch (Throwable e) {
            LOGGER.log(Level.ERROR, "a host function on a CUDA stream failed", e);
        }
    }

    @SuppressWarnings("restricted") // calling the driver is this module's purpose
    private static long entry() {
        try {
            return Linker.nativeLinker()
                    .upcallStub(
                            MethodHandles.lookup()
                                    .findStatic(
                                            HostFunctions.class, "run", MethodType.methodType(void.class, long.class)),
                            FunctionDescriptor.ofVoid(JAVA_LONG),
                            Arena.global())
                    .address();
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("HostFunctions.run", e);
        }
    }
}
