package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.PoolAttribute;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Behaviour of {@link CudaDriver} that the providers rely on. Its subclasses, one for each group of functions, hold for
 * the installed driver and for the simulated one.
 */
abstract class CudaContract {
    static final int DEVICE = 0;
    static final long MIB = 1L << 20;
    static final long DEFAULT_STREAM = 0;

    private final Supplier<? extends TestDriver> open;
    private TestDriver subject;

    CudaContract(Supplier<? extends TestDriver> open) {
        this.open = open;
    }

    /** A driver with at least one device that has pools and virtual memory. */
    interface TestDriver extends AutoCloseable {
        CudaDriver driver();

        /** Keeps a stream of device 0 from executing what is submitted from now on. */
        Stall stall(long stream);

        @Override
        default void close() {}
    }

    /** A stream that makes no progress until this is closed. */
    interface Stall extends AutoCloseable {
        @Override
        void close();
    }

    @BeforeEach
    void retainContext() {
        subject = open.get();
        driver().devices().primaryContextRetain(DEVICE);
    }

    @AfterEach
    void releaseContext() {
        if (subject != null) {
            driver().devices().ctxSynchronize(DEVICE);
            driver().devices().primaryContextRelease(DEVICE);
            subject.close();
        }
    }

    final CudaDriver driver() {
        return subject.driver();
    }

    final Stall stall(long stream) {
        return subject.stall(stream);
    }

    /** Creates a pool that releases memory only when it is trimmed. */
    final long retainingPool() {
        final long pool = driver().pools().memPoolCreate(DEVICE);
        driver().pools().memPoolSetAttribute(DEVICE, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
        return pool;
    }

    final long attribute(long pool, PoolAttribute attribute) {
        return driver().pools().memPoolGetAttribute(DEVICE, pool, attribute);
    }

    final byte firstByte(long address) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(1);
            driver().memory().memcpyDtoH(DEVICE, target.address(), address, 1);
            return target.get(ValueLayout.JAVA_BYTE, 0);
        }
    }

    static void assertFails(int result, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CudaException.class,
                        e -> assertThat(e.result()).as(e.getMessage()).isEqualTo(result));
    }
}
