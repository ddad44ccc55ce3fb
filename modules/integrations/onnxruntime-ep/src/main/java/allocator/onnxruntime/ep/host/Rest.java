package allocator.onnxruntime.ep.host;

import allocator.provider.support.Failures;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What is returned to one provider, and what it did not take back: ONNX Runtime has that no more, so the next attempt
 * is {@link #returnAll}.
 */
final class Rest {
    private final EpFactory provider;

    /** Guards itself. */
    private final Deque<Item> left = new ArrayDeque<>();

    /** Something that was not taken back. */
    private record Item(Runnable again, boolean isReference) {}

    Rest(EpFactory provider) {
        this.provider = provider;
    }

    /** Returns a reference to an allocator. If that throws, it is left, unless by the contract the provider has it. */
    void release(Allocator target) {
        try {
            provider.releaseAllocator(target);
        } catch (DeviceException | UnknownAllocatorException e) {
            throw e;
        } catch (Throwable e) {
            add(new Item(() -> releaseAgain(target), true));
            throw e;
        }
    }

    private void releaseAgain(Allocator target) {
        try {
            provider.releaseAllocator(target);
        } catch (UnknownAllocatorException e) {
            // The attempt before had its effect, and threw all the same.
        }
    }

    /** Closes a stream. If that throws, what the device failed to do is left. */
    void close(SyncStream stream) {
        try {
            stream.close();
        } catch (Throwable e) {
            add(new Item(stream::close, false));
            throw e;
        }
    }

    private void add(Item item) {
        synchronized (left) {
            left.addLast(item);
        }
    }

    /**
     * Tries again to return everything that is left. What throws once more remains, except a reference after a
     * {@link DeviceException}, which the provider has. By one thread at a time.
     */
    void returnAll(Failures failures) {
        for (int count = count(); count > 0; count--) {
            final Item item;
            synchronized (left) {
                item = left.getFirst();
            }
            final boolean isLeft = !isReturned(item, failures);
            synchronized (left) {
                left.removeFirst();
                if (isLeft) {
                    left.addLast(item); // in the place that has become free
                }
            }
        }
    }

    private int count() {
        synchronized (left) {
            return left.size();
        }
    }

    private static boolean isReturned(Item item, Failures failures) {
        try {
            item.again.run();
            return true;
        } catch (Throwable e) {
            failures.add(e);
            return item.isReference && e instanceof DeviceException;
        }
    }
}
