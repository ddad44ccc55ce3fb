package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.TraceLog;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class ResourceDecoratorTest {
    /** A slow upstream may give the address to another thread before the first call returns. */
    @Test
    void anAddressReusedDuringALateFreeIsNotConfused() throws Exception {
        FakeResource slow = new FakeResource(1 << 20).afterFree(() -> {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        LeakTrackingResource tracked = LeakTrackingResource.full(slow);
        RequestBudgetResource budgeted = new RequestBudgetResource(tracked);
        MemoryResource top = new LoggingResource(budgeted, new TraceLog(new StringWriter()));
        Budget request = Budget.of("request", 1 << 20);
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                all.add(threads.submit(() -> ScopedValue.where(RequestBudgetResource.CURRENT, request)
                        .run(() -> {
                            for (int i = 0; i < 100; i++) {
                                top.deallocate(top.allocate(256), 256);
                            }
                        })));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(tracked.report().blocks()).isZero();
        assertThat(request.status().charge()).isZero();
    }
}
