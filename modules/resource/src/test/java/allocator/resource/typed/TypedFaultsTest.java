package allocator.resource.typed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FakeResource;
import allocator.resource.MemoryKind;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Each allocation and copy of a buffer fails in turn: it is as before, and its close gives everything back. */
class TypedFaultsTest {
    private final FaultyCalls calls = new FaultyCalls();
    private final FakeResource resource = new FakeResource(MemoryKind.DEVICE, 1 << 20).before(call -> {
        if (call.equals("allocate")) {
            calls.accept(call);
        }
    });
    private final DataTransfer transfer = new DataTransfer() {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return true;
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
            calls.accept("copy");
        }
    };

    /** Returns how many calls failed. */
    private long run(long number, boolean forGood, Supplier<? extends Throwable> failure) {
        final long before = calls.failures();
        final List<TypedBuffer<?>> buffers = new ArrayList<>();
        calls.failAt(calls.calls() + number, forGood, failure);
        attempt(() -> buffers.add(new TypedBuffer<>(resource, ValueLayout.JAVA_INT, 10, transfer)));
        if (!buffers.isEmpty()) {
            final TypedBuffer<?> buffer = buffers.getFirst();
            attempt(() -> buffer.resize(20));
            attempt(() -> buffer.resize(40));
            attempt(() -> buffers.add(buffer.copy()));
            attempt(buffer::shrinkToFit);
            attempt(() -> buffer.resize(80));
            buffers.forEach(each -> attempt(each::close));
        }
        calls.stop();
        buffers.forEach(TypedBuffer::close);
        buffers.forEach(TypedBuffer::close);
        assertThat(resource.bytes()).isZero();
        return calls.failures() - before;
    }

    private void attempt(Runnable step) {
        final long before = calls.failures();
        try {
            step.run();
        } catch (Throwable e) {
            if (calls.failures() == before) {
                throw e;
            }
        }
    }

    @Test
    void nothingIsLostWhicheverCallFails() {
        long injected = 0;
        for (Supplier<Throwable> failure : FaultsInTurn.failures().values()) {
            for (boolean forGood : new boolean[] {false, true}) {
                for (long number = 1, failed = 1; failed > 0; number++) {
                    failed = run(number, forGood, failure);
                    injected += failed;
                }
            }
        }
        assertThat(injected).isGreaterThan(100);
    }

    @Test
    void aSecondCloseDeallocatesWhatTheFirstLeft() {
        final TypedBuffer<?> buffer = new TypedBuffer<>(resource, ValueLayout.JAVA_INT, 10, transfer);
        resource.before(call -> {
            resource.before(later -> {});
            throw new IllegalArgumentException("injected");
        });
        assertThatThrownBy(buffer::close).hasMessage("injected");
        assertThatThrownBy(buffer::address).isInstanceOf(IllegalStateException.class);
        buffer.close();
        assertThat(resource.bytes()).isZero();
        buffer.close();
    }
}
