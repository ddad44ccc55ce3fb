package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FakeAllocatorTest {
    private final FakeAllocator.Full allocator = new FakeAllocator.Full(FakeDevice.INFO);
    private final FakeStream stream = new FakeStream().handle(3);

    @Test
    void theLogShowsAllocationsAndFrees() {
        final List<String> log = new ArrayList<>();
        allocator.log(log::add);
        final long address = allocator.alloc(100);
        allocator.allocOnStream(200, stream);
        allocator.reserve(300);
        allocator.free(address);
        assertThat(log).containsExactly("alloc 100", "alloc 200 on 3", "reserve 300", "free 100");
        assertThat(allocator.live()).hasSize(2).containsValues(200L, 300L);
        assertThat(allocator.lastStream()).isSameAs(stream);
    }

    @Test
    void theLimitBoundsWhatIsInUse() {
        allocator.limit(100);
        final long address = allocator.alloc(60);
        assertThatThrownBy(() -> allocator.alloc(41)).isInstanceOf(OutOfMemoryException.class);
        allocator.free(address);
        allocator.alloc(100);
        assertThat(allocator.stats().bytesInUse()).isEqualTo(100);
        assertThat(allocator.stats().peakBytesInUse()).isEqualTo(100);
    }

    @Test
    void aShrinkReleasesWhatIsHeldBeyondTheBlocks() {
        allocator.alloc(10);
        assertThat(allocator.stats().bytesHeld()).isEqualTo(110);
        assertThat(allocator.shrink().bytesReleased()).isEqualTo(100);
        assertThat(allocator.shrink().bytesReleased()).isZero();
        assertThat(allocator.stats().bytesHeld()).isEqualTo(10);
        assertThat(allocator.calls("shrink")).isEqualTo(2);
    }

    @Test
    void aCallThatItsHookFailsHasNoEffect() {
        final long address = allocator.alloc(10);
        allocator.before(Faults.on("free", new DeviceException("injected", null)));
        assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(DeviceException.class);
        assertThat(allocator.live()).containsKey(address);
        assertThat(allocator.calls("free")).isZero();
    }

    @Test
    void anAddressThatIsNotLiveIsRejected() {
        assertThatThrownBy(() -> allocator.free(1)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void aClosedAllocatorRejectsCalls() {
        allocator.close();
        assertThatThrownBy(() -> allocator.alloc(1)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(() -> allocator.allocOnStream(1, stream)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(allocator::shrink).isInstanceOf(AllocatorClosedException.class);
    }
}
