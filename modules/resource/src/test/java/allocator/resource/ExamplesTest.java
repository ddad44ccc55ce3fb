package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.FaultInjectionResource.FaultPlan;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.PressureLadder;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.log.TraceLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.FakeEvents;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.resource.typed.PolymorphicAllocator;
import allocator.resource.typed.TypedBuffer;
import allocator.spi.Allocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of {@code docs/modules/java.allocator.resource.md}, word for word. */
class ExamplesTest {
    private final HostResource host = new HostResource();
    private final StringWriter trace = new StringWriter();

    @AfterEach
    void close() {
        host.close();
    }

    @Test
    void hostMemory() {
        try (HostResource resource = new HostResource()) {
            long address = resource.allocate(1000, 64);
            resource.deallocate(address, 1000, 64);
        }
    }

    @Test
    void arena() {
        try (ResourceArena arena = ResourceArena.ofConfined(host)) {
            var numbers = arena.allocateFrom(ValueLayout.JAVA_INT, 1, 2, 3);
            assertThat(numbers.byteSize()).isEqualTo(12);
        }
    }

    @Test
    void arrays() {
        var floats = new PolymorphicAllocator<>(host, ValueLayout.JAVA_FLOAT);
        long address = floats.allocate(1000);
        floats.deallocate(address, 1000);
    }

    @Test
    void buffer() {
        try (var buffer = new TypedBuffer<>(host, ValueLayout.JAVA_INT, 3)) {
            buffer.segment().setAtIndex(ValueLayout.JAVA_INT, 2, 7);
            buffer.resize(1000);
            assertThat(buffer.segment().getAtIndex(ValueLayout.JAVA_INT, 2)).isEqualTo(7);
        }
    }

    @Test
    void stackOnAnAllocator() {
        Allocator provided = ResourceAllocator.of(host);
        Budget tenant = Budget.of("tenant", 4096);
        TraceLog log = new TraceLog(trace);
        MemoryResource bottom = new AllocatorResource(provided);
        Allocator limited = ResourceAllocator.of(new BudgetResource(new LoggingResource(bottom, log), tenant));
        limited.free(limited.alloc(4096));
        assertThat(trace.toString()).contains("a,0,4096,0");
    }

    @Test
    void budgetAndLog(@TempDir Path folder) throws IOException {
        RmmLog log = RmmLog.to(folder.resolve("log.csv"));
        Budget machine = Budget.of("machine", 8L << 30);
        Budget tenant = machine.child("tenant", 512 << 20);
        MemoryResource resource = new BudgetResource(new LoggingResource(host, log), tenant);
        resource.deallocate(resource.allocate(1000), 1000);
        log.close();
        List<RmmLog.Entry> entries = RmmLog.read(folder.resolve("log.csv"));
        RmmLog.Replay replay = RmmLog.replay(entries, host);
        RmmLog.writeTrace(entries, trace); // for ./allocator replay
        assertThat(replay.allocations()).isEqualTo(1);
        assertThat(trace.toString()).isEqualTo("op,id,bytes,stream\na,0,1000,0\nf,0,1000,0\n");
    }

    @Test
    void pressure() {
        Budget tenant = Budget.of("tenant", 1 << 20);
        List<Long> cache = new ArrayList<>(List.of(host.allocate(1 << 20)));
        assertThat(tenant.tryCharge(1 << 20)).isTrue();
        PressureLadder ladder = PressureLadder.NONE
                .then("shrink", bytes -> host.shrink().bytesReleased())
                .then("empty the cache", bytes -> {
                    host.deallocate(cache.removeLast(), 1 << 20);
                    tenant.release(1 << 20);
                    return 1 << 20;
                });
        MemoryResource resource = new BudgetResource(host, tenant, ladder);
        resource.deallocate(resource.allocate(1 << 20), 1 << 20);
        assertThat(cache).isEmpty();
    }

    @Test
    void reservation() {
        Budget device = Budget.of("device", 1000);
        try (Budget weights = Objects.requireNonNull(device.tryReserve("weights", 600))) {
            MemoryResource resource = new BudgetResource(host, weights);
            resource.deallocate(resource.allocate(600), 600);
        }
        assertThat(device.status().available()).isEqualTo(1000);
    }

    @Test
    void requests() {
        RequestBudgetResource resource = new RequestBudgetResource(host);
        Budget request = Budget.of("request 7", 64 << 20);
        ScopedValue.where(RequestBudgetResource.CURRENT, request)
                .run(() -> resource.deallocate(resource.allocate(100), 100));
        assertThat(request.status().peakCharge()).isEqualTo(100);
    }

    @Test
    void observation() {
        StatisticsResource counted = new StatisticsResource(host);
        LeakTrackingResource tracked = LeakTrackingResource.sampled(counted, 128);
        counted.push();
        tracked.deallocate(tracked.allocate(100), 100);
        assertThat(counted.pop().peakBytes()).isEqualTo(100);
        assertThat(tracked.report().blocks()).isZero();
    }

    @Test
    void failures() {
        MemoryResource flaky = new FaultInjectionResource(host, FaultPlan.onRequest(1));
        MemoryResource retrying = new FailureCallbackResource(flaky, 3, (failure, attempt) -> attempt < 2);
        MemoryResource aligned = new AlignedResource(retrying, 4096);
        aligned.deallocate(aligned.allocate(100), 100);
    }

    @Test
    void trackedBlocks() {
        FakeEvents events = new FakeEvents();
        SyncStream stream = new FakeStream(host.memory());
        TrackedMemory memory = new TrackedMemory(host, events, Budget.of("device", 1 << 30));
        TrackedBlock scores = memory.allocate(4096, stream, "scores");
        memory.launch(stream).uses(scores, Access.WRITE).run(on -> submit(stream, scores.address()));
        memory.free(scores); // pending until the work is complete
        events.advance(stream);
        assertThat(memory.reap()).isEqualTo(4096);
        memory.close();
    }

    private static void submit(SyncStream stream, long address) {
        assertThat(stream.handle() + address).isNotZero();
    }

    /** A decorator of one's own: rejects large requests. */
    static final class SizeCapResource extends ResourceDecorator {
        private final long mostBytes;

        SizeCapResource(MemoryResource upstream, long mostBytes) {
            super(upstream);
            this.mostBytes = mostBytes;
        }

        @Override
        protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
            if (byteSize > mostBytes) {
                throw new InvalidSizeException(byteSize, "is more than the " + mostBytes + " bytes allowed");
            }
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        }
    }

    @Test
    void ownDecorator() {
        MemoryResource capped = new SizeCapResource(host, 1000);
        capped.deallocate(capped.allocate(1000), 1000);
        assertThatThrownBy(() -> capped.allocate(1001)).isInstanceOf(InvalidSizeException.class);
    }
}
