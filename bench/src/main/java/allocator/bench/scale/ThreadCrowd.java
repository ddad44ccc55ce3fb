package allocator.bench.scale;

import allocator.spi.Allocator;

/** Threads that have allocated and ended, one after the other. */
final class ThreadCrowd extends Crowd {
    private static final int BYTES = 8192;

    private final Allocator allocator;
    private final Runnable onClose;

    ThreadCrowd(Allocator allocator, Runnable onClose) {
        this.allocator = allocator;
        this.onClose = onClose;
    }

    @Override
    void comeAndGo() {
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
        comeAndGo();
    }

    @Override
    void use(int count) {
        comeAndGo();
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
