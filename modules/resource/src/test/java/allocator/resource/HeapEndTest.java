package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.HeapFaults;
import org.junit.jupiter.api.Test;

class HeapEndTest {
    @Test
    void aCallWhoseAllocationFailsChangesNothing() {
        assertThat(HeapFaults.run(EachEnd.class, "heap")).isGreaterThan(100);
    }
}
