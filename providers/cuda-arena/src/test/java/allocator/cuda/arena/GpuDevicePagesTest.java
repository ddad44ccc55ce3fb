package allocator.cuda.arena;

import allocator.cuda.testkit.GpuDriver;
import allocator.testkit.pages.PageSourceContract;
import allocator.testkit.pages.PageSubject;
import org.junit.jupiter.api.Nested;

/** On this machine's GPU. */
class GpuDevicePagesTest {
    private static final long LARGE_PAGE = 32 << 20;

    @Nested
    class OfTheDriversSize extends PageSourceContract {
        @Override
        protected PageSubject open() {
            return new DevicePagesFixture(GpuDriver.require(), 0);
        }
    }

    @Nested
    class Large extends PageSourceContract {
        @Override
        protected PageSubject open() {
            return new DevicePagesFixture(GpuDriver.require(), LARGE_PAGE);
        }
    }
}
