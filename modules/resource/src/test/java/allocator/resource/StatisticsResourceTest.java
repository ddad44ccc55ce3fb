package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.OutOfMemoryException;
import org.junit.jupiter.api.Test;

class StatisticsResourceTest {
    private static final long MIB = 1 << 20;

    private final FakeResource addresses = new FakeResource(1L << 40);

    private final StatisticsResource counted = new StatisticsResource(addresses);

    @Test
    void peaksOutliveTheirBlocks() {
        assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 0, 0, 0, 0, 0));
        long one = counted.allocate(10 * MIB);
        long two = counted.allocate(5 * MIB);
        counted.deallocate(one, 10 * MIB);
        counted.allocate(2 * MIB);
        counted.deallocate(two, 5 * MIB);
        assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(2 * MIB, 15 * MIB, 17 * MIB, 1, 2, 3));
    }

    @Test
    void aScopeIsAddedToTheEnclosingOne() {
        long outer = counted.allocate(10);
        counted.push();
        long inner = counted.allocate(7);
        counted.push();
        counted.deallocate(counted.allocate(100), 100);
        assertThat(counted.pop()).isEqualTo(new ResourceStatistics(0, 100, 100, 0, 1, 1));
        counted.deallocate(inner, 7);
        counted.deallocate(outer, 10);
        assertThat(counted.pop()).isEqualTo(new ResourceStatistics(-10, 107, 107, -1, 2, 2));
        assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 117, 117, 0, 3, 3));
        assertThatThrownBy(counted::pop).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void countersAreNegativeIfOnlyFreesAreSeen() {
        long address = addresses.allocate(100);
        counted.deallocate(address, 100);
        assertThat(counted.statistics().bytes()).isEqualTo(-100);
        assertThat(counted.statistics().blocks()).isEqualTo(-1);
    }

    @Test
    void aBlockWhoseDeallocationFailsIsStillLive() {
        long address = counted.allocate(100);
        addresses.before(call -> {
            throw new DeviceException("the driver fails", null);
        });
        assertThatThrownBy(() -> counted.deallocate(address, 100)).isInstanceOf(DeviceException.class);
        assertThat(counted.statistics().bytes()).isEqualTo(100);
        addresses.before(call -> {});
        counted.deallocate(address, 100);
        assertThat(counted.statistics().bytes()).isZero();
        assertThat(counted.statistics().blocks()).isZero();
    }

    @Test
    void countersBelowADecoratorIncludeItsPadding() {
        StatisticsResource above = new StatisticsResource(new AlignedResource(counted, 1024));
        above.deallocate(above.allocate(100), 100);
        assertThat(above.statistics().peakBytes()).isEqualTo(100);
        assertThat(counted.statistics().peakBytes()).isEqualTo(100 + 1024 - 256);
    }

    @Test
    void aPeakOfAnInnerScopeCountsInTheOuterOne() {
        long outer = counted.allocate(10);
        counted.push();
        counted.deallocate(counted.allocate(5), 5);
        counted.pop();
        counted.allocate(1);
        counted.deallocate(outer, 10);
        assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(1, 15, 16, 1, 2, 3));
    }

    @Test
    void aFailedCallCountsNothing() {
        assertThatThrownBy(() -> counted.allocate(1L << 41)).isInstanceOf(OutOfMemoryException.class);
        assertThatThrownBy(() -> counted.deallocate(64, 1)).isInstanceOf(ForeignAddressException.class);
        assertThat(counted.statistics()).isEqualTo(new ResourceStatistics(0, 0, 0, 0, 0, 0));
    }
}
