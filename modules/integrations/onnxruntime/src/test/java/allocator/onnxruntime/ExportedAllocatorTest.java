package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.onnxruntime.block.SessionBudget;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.function.Supplier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whatever the allocator throws, and wherever the stack ends: blocks and charges are neither lost nor invented. */
class ExportedAllocatorTest {
    /**
     * Addresses without memory. No call divides the stores of a change, so each call fails as a whole or not at all.
     */
    private static final class Flat implements Allocator {
        private long next = 1 << 20;
        private long live;
        private Supplier<Throwable> fault;
        private boolean isFreed;
        private boolean isOddKept;

        private void fail() {
            if (fault != null) {
                Flat.<RuntimeException>sneak(fault.get());
            }
        }

        @SuppressWarnings("unchecked")
        private static <T extends Throwable> void sneak(Throwable thrown) throws T {
            throw (T) thrown;
        }

        @Override
        public long alloc(long byteSize) {
            if (fault != null) {
                fail();
            }
            live++;
            next += 64;
            return next;
        }

        @Override
        public void free(long address) {
            if (fault != null || (isOddKept && (address & 1) != 0)) {
                live -= isFreed ? 1 : 0;
                fail();
                throw new IllegalStateException("odd");
            }
            live--;
        }

        @Override
        public MemoryInfo info() {
            return NativeEnvironment.CPU;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    /** What a call of the allocator throws. */
    @SuppressWarnings("ImmutableEnumChecker") // the suppliers hold nothing
    enum Thrown {
        OUT_OF_MEMORY(() -> new OutOfMemoryException("full", Shortage.ofDevice(NativeEnvironment.CPU, 10, 5))),
        DEVICE(() -> new DeviceException("device", null)),
        RUNTIME(() -> new IllegalStateException("odd")),
        CHECKED(() -> new Exception("checked")),
        ERROR(() -> new AssertionError("error")),
        HEAP(() -> new OutOfMemoryError("injected")),
        STACK(() -> new StackOverflowError("injected"));

        private final Supplier<Throwable> make;

        Thrown(Supplier<Throwable> make) {
            this.make = make;
        }
    }

    private final Flat flat = new Flat();
    private final SessionBudget all = new SessionBudget(null, 1 << 20);
    private final SessionBudget budget = new SessionBudget(all, AllocatorStats.UNLIMITED);
    private final ExportedAllocator allocator = new ExportedAllocator(
            flat, OrtMemory.CPU, null, budget, null, null, new FailureLog("the test", "no model", null));

    private void assertExact(long blocks) {
        assertEquals(blocks, flat.live);
        assertEquals(blocks, allocator.liveBlocks());
        assertEquals(8 * blocks, budget.used());
        assertEquals(8 * blocks, all.used());
    }

    @Nested
    class Faults {
        @ParameterizedTest
        @EnumSource
        void anAllocationThatFailsIsNotCharged(Thrown thrown) {
            flat.fault = thrown.make;
            for (int i = 0; i < 10; i++) {
                assertEquals(0, i % 2 == 0 ? allocator.reserve(8) : allocator.alloc(8));
                assertExact(0);
            }
            flat.fault = null;
            allocator.free(allocator.alloc(8));
            assertExact(0);
            allocator.close();
        }

        @ParameterizedTest
        @EnumSource
        void aFreeThatThrowsEndsItsChargeAndNoCloseWaitsForIt(Thrown thrown) {
            final long block = allocator.alloc(8);
            flat.fault = thrown.make;
            allocator.free(block);
            assertEquals(0, allocator.liveBlocks());
            assertEquals(0, all.used());
            flat.fault = null;
            allocator.close();
        }
    }
}
