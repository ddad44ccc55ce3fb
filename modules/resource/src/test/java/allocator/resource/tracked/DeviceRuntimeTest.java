package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.budget.Budget;
import allocator.spi.DeviceException;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DeviceRuntimeTest {
    private final FakeResource resource = new FakeResource(0);
    private final AtomicInteger starts = new AtomicInteger();

    private DeviceRuntime start() {
        return new DeviceRuntime(
                new TrackedMemory(resource, new FakeEvents(), Budget.of("device", 1)),
                new StreamPool(1, () -> new FakeStream(resource.memory())));
    }

    @Test
    void aRuntimeIsStartedOnceAndAFailedStartIsRetried() {
        assertThatThrownBy(() -> DeviceRuntime.of(4711, device -> {
                    throw new DeviceException("no such device", null);
                }))
                .isInstanceOf(DeviceException.class);
        DeviceRuntime runtime = DeviceRuntime.of(4711, device -> {
            starts.incrementAndGet();
            return start();
        });
        assertThat(DeviceRuntime.of(4711, device -> {
                    starts.incrementAndGet();
                    return runtime;
                }))
                .isSameAs(runtime);
        assertThat(starts).hasValue(1);
    }

    @Test
    void threadsThatRaceForARuntimeStartItOnce() throws Exception {
        CountDownLatch begin = new CountDownLatch(1);
        List<Future<DeviceRuntime>> all = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 16; i++) {
                all.add(threads.submit(() -> {
                    begin.await();
                    return DeviceRuntime.of(4712, device -> {
                        if (starts.incrementAndGet() == 1) {
                            throw new DeviceException("not yet", null);
                        }
                        return start();
                    });
                }));
            }
            begin.countDown();
        }
        assertThat(all.stream().filter(one -> one.state() == Future.State.FAILED))
                .hasSize(1);
        assertThat(all.stream()
                        .filter(one -> one.state() == Future.State.SUCCESS)
                        .map(Future::resultNow)
                        .distinct())
                .hasSize(1);
        assertThat(starts).hasValue(2);
    }
}
