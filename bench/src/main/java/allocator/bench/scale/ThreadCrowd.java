package allocator.bench.scale;

import allocator.spi.Allocator;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.function.IntConsumer;

/** Threads that have allocated and ended, one after the other. */
final class ThreadCrowd extends Crowd {
    private static final int BYTES = 8192;

    private final Allocator allocator;
    private final Runnable onClose;

    ThreadCrowd(Allocator allocator, Runnable onClose) {
        this.allocator = allocator;
        this.onClose = onClose;
    }

    private void run(int ignored) {
        final Thread thread = new Thread(() -> allocator.free(allocator.alloc(BYTES)));
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    void add(int index) {
        run(index);
    }

    @Override
    SequencedMap<String, IntConsumer> operations() {
        final SequencedMap<String, IntConsumer> operations = new LinkedHashMap<>();
        operations.put("start a thread, allocate, free", this::run);
        return operations;
    }

    @Override
    void remove(int index) {
        // It has ended.
    }

    @Override
    public void close() {
        onClose.run();
    }
}
