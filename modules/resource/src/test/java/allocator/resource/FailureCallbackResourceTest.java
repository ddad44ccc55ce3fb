package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FailureCallbackResourceTest {
    private final FakeResource addresses = new FakeResource(1L << 40);

    @Test
    void theCallbackIsCalledUntilItMakesRoom() {
        FakeResource small = new FakeResource(100);
        long address = small.allocate(100);
        List<Integer> attempts = new ArrayList<>();
        MemoryResource resource = new FailureCallbackResource(small, 5, (failure, attempt) -> {
            attempts.add(attempt);
            if (attempt == 2) {
                small.deallocate(address, 100);
            }
            return true;
        });
        resource.allocate(80, 128);
        assertThat(attempts).containsExactly(1, 2);
        assertThat(small.calls.getLast()).isEqualTo("allocate 80 aligned 128");
    }

    @Test
    void attemptsAreBounded() {
        List<Integer> attempts = new ArrayList<>();
        MemoryResource resource =
                new FailureCallbackResource(new FakeResource(1), 3, (failure, attempt) -> attempts.add(attempt));
        assertThatThrownBy(() -> resource.allocate(2)).isInstanceOf(OutOfMemoryException.class);
        assertThat(attempts).containsExactly(1, 2, 3);
        assertThatThrownBy(() -> new FailureCallbackResource(addresses, 0, (failure, attempt) -> true))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aCallbackCanGiveUpAndOtherFailuresPass() {
        MemoryResource resource = new FailureCallbackResource(new FakeResource(1), 3, (failure, attempt) -> false);
        assertThatThrownBy(() -> resource.allocate(2)).isInstanceOf(OutOfMemoryException.class);
        assertThatThrownBy(() -> resource.allocate(1, 512)).isInstanceOf(InvalidAlignmentException.class);
    }
}
