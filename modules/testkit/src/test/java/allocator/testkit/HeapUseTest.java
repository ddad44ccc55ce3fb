package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import org.junit.jupiter.api.Test;

class HeapUseTest {
    @Test
    void growsByWhatTheThreadAllocates() {
        final long before = HeapUse.ofThisThread();
        final byte[] bytes = new byte[100_000];
        assertThat(HeapUse.ofThisThread() - before).isGreaterThanOrEqualTo(bytes.length);
    }

    /** One object of 16 bytes for each pair would show as 160,000 bytes. */
    @Test
    void isNothingForAConstantAllocator() {
        final Allocator allocator = new ConstantAllocator.StreamAware(FakeDevice.INFO);
        final long before = HeapUse.ofThisThread();
        for (int i = 0; i < 10_000; i++) {
            allocator.free(allocator.alloc(i));
        }
        assertThat(HeapUse.ofThisThread() - before).isLessThan(20_000);
    }
}
