package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FaultyCalls;
import allocator.testkit.pages.PageCalls;
import allocator.testkit.pages.PageSourceFaultsContract;
import allocator.testkit.pages.PageSubject;
import java.util.Map;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class FakePagesTest extends PageSourceFaultsContract {
    private static final long PAGE = 4096;
    private static final int MANY = 1000;

    private final FakePages pages = new FakePages(PAGE, MANY);

    /** The double under the contract. */
    private record Subject(FakePages fake, PageCalls pages) implements PageSubject {
        static Subject of(FakePages fake) {
            return new Subject(
                    fake,
                    new PageCalls(
                            fake::pageBytes,
                            fake::reserve,
                            fake::unreserve,
                            fake::create,
                            fake::release,
                            fake::map,
                            fake::unmap,
                            fake::close));
        }

        @Override
        public void write(long address, byte[] bytes) {
            fake.write(address, bytes);
        }

        @Override
        public byte[] read(long address, int byteSize) {
            return fake.read(address, byteSize);
        }

        @Override
        public void close() {
            fake.requireEmpty();
        }
    }

    @Override
    protected PageSubject open(FaultyCalls calls) {
        return Subject.of(new FakePages(PAGE, MANY, calls));
    }

    @Override
    protected PageSubject openLimited(int most) {
        return Subject.of(new FakePages(PAGE, most));
    }

    /** The double throws whatever a test plans, so only what the contract of the calls allows is injected. */
    @Override
    protected Map<String, Supplier<Throwable>> failures() {
        return Map.of(
                "a failure",
                () -> new DeviceException("injected", null),
                "the end of the heap",
                () -> new OutOfMemoryError("injected"));
    }

    private static void assertMisuse(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(AssertionError.class).hasMessageContaining(message);
    }

    @Test
    void misuseIsDetected() {
        final long range = pages.reserve(2 * PAGE);
        final long page = pages.create(1);
        pages.map(range, page);
        assertMisuse(() -> pages.map(range, page), "mapped where another one is");
        assertMisuse(() -> pages.map(range + 1, page), "no address of a page");
        assertMisuse(() -> pages.map(range + 2 * PAGE, page), "no address of a page");
        assertMisuse(() -> pages.map(range + PAGE, page + 1), "there is no extent 1");
        assertMisuse(() -> pages.unmap(range - PAGE), "no address of a page");
        assertMisuse(() -> pages.release(page), "while it is mapped");
        assertMisuse(() -> pages.unreserve(range, 2 * PAGE), "with mappings");
        assertMisuse(() -> pages.unreserve(range, PAGE), "not reserved");
        assertMisuse(() -> pages.reserve(0), "a range of 0 bytes");
        assertMisuse(() -> pages.reserve(PAGE + 1), "bytes");
        assertMisuse(() -> pages.write(range + PAGE, new byte[1]), "nothing is mapped");
        assertMisuse(() -> pages.read(range + PAGE - 1, 2), "reach beyond");
        assertMisuse(pages::requireEmpty, "pages {0}, mappings [0x10000000000: 0]");
        pages.unmap(range);
        final long larger = pages.create(2);
        assertMisuse(() -> pages.create(0), "an extent of 0 pages");
        assertMisuse(() -> pages.map(range + PAGE, larger), "no address of a page");
        pages.map(range, larger);
        assertMisuse(() -> pages.map(range + PAGE, page), "mapped where another one is");
        assertMisuse(() -> pages.unmap(range + PAGE), "a part of a mapping");
        pages.unmap(range);
        pages.map(range + PAGE, page);
        assertMisuse(() -> pages.map(range, larger), "mapped where another one is");
        pages.unmap(range + PAGE);
        pages.release(larger);
        pages.release(page);
        assertMisuse(() -> pages.release(page), "there is no extent 0");
        pages.unreserve(range, 2 * PAGE);
        pages.requireEmpty();
    }

    @Test
    void callsAreCounted() {
        final long range = pages.reserve(4 * PAGE);
        final long first = pages.create(1);
        final long second = pages.create(1);
        pages.map(range, first);
        pages.map(range + PAGE, first);
        pages.map(range + 2 * PAGE, second);
        pages.unmap(range);
        pages.unmap(range);
        assertThat(pages.livePages()).isEqualTo(2);
        assertThat(pages.creates()).isEqualTo(2);
        assertThat(pages.mappings()).isEqualTo(2);
        assertThat(pages.maps()).isEqualTo(3);
        assertThat(pages.unmaps()).isEqualTo(1);
        assertThat(pages.ranges()).isEqualTo(1);
        assertThat(pages.pageAt(range)).isEqualTo(-1);
        assertThat(pages.pageAt(range + PAGE + 7)).isEqualTo(first);
        assertThat(pages.mappingsOf(first)).isEqualTo(1);
    }

    @Test
    void aCallFailsOnceOrForGood() {
        pages.failAt(2, () -> new DeviceException("injected", null));
        pages.create(1);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pages.create(1));
        pages.create(1);
        pages.failFrom(1, () -> new DeviceException("injected", null));
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pages.create(1));
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pages.release(0));
        pages.stopFailing();
        pages.release(0);
        assertThat(pages.failures()).isEqualTo(3);
        assertThat(pages.livePages()).isEqualTo(1);
    }

    @Test
    void aFailingCallMayTakeEffectButNotForLackOfMemory() {
        final long range = pages.reserve(2 * PAGE);
        final long page = pages.create(1);
        pages.failuresTakeEffect(true);
        pages.failAt(1, () -> new DeviceException("injected", null));
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pages.map(range, page));
        assertThat(pages.pageAt(range)).isEqualTo(page);
        pages.failAt(1, () -> new DeviceException("injected", null));
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> pages.unmap(range));
        assertThat(pages.pageAt(range)).isEqualTo(-1);
        pages.failAt(1, () -> new OutOfMemoryException("injected", Shortage.ofDevice(pages.info(), PAGE, 0)));
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> pages.map(range, page));
        assertThat(pages.pageAt(range)).isEqualTo(-1);
    }
}
