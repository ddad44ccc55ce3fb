package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.HeapFaults;
import org.junit.jupiter.api.Test;

class HeapEndTest {
    @Test
    void eachCallIsWholeWhicheverAllocationFails() {
        assertThat(HeapFaults.run(EachEnd.class)).isGreaterThan(500);
    }
}
