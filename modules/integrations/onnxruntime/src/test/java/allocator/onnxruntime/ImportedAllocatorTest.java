package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.onnxruntime.support.OrtApi.Function;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.ForeignAddressException;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ImportedAllocatorTest {
    private static final int BYTE_SIZE = 256;

    /** A release beside a call, which is held inside ONNX Runtime by the installed allocator beneath it. */
    @Nested
    @Timeout(60)
    class Release {
        private final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
        private volatile Runnable beforeAllocation = () -> {};
        private final HeapAllocator heap = new HeapAllocator() {
            @Override
            public long alloc(long byteSize) {
                beforeAllocation.run();
                return super.alloc(byteSize);
            }
        };

        private Allocator shared() {
            return factory.createAllocator(
                    NativeEnvironment.CPU, AllocatorOptions.of(Map.of(OnnxRuntimeFactory.SOURCE.name(), "shared")));
        }

        @Test
        void waitsForTheCallsInside() throws InterruptedException {
            final CountDownLatch inside = new CountDownLatch(1);
            final CountDownLatch mayLeave = new CountDownLatch(1);
            final AtomicBoolean isReleased = new AtomicBoolean();
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                final Allocator allocator = shared();
                beforeAllocation = () -> {
                    inside.countDown();
                    try {
                        mayLeave.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                };
                final long[] block = new long[1];
                final Thread user = Thread.ofPlatform().start(() -> block[0] = allocator.alloc(BYTE_SIZE));
                inside.await();
                final Thread releaser = Thread.ofPlatform().start(() -> {
                    factory.releaseAllocator(allocator);
                    isReleased.set(true);
                });
                while (releaser.isAlive() && !isRejected(allocator)) {
                    Thread.onSpinWait();
                }
                releaser.join(50);
                assertFalse(isReleased.get());
                // The factory is not locked meanwhile.
                factory.releaseAllocator(shared());
                mayLeave.countDown();
                user.join();
                releaser.join();
                assertTrue(isReleased.get());
                assertEquals(BYTE_SIZE, memory.bytesInUse());
                beforeAllocation = () -> {};
                final Allocator another = shared();
                assertThrows(ForeignAddressException.class, () -> another.free(block[0]));
                factory.releaseAllocator(another);
                NativeEnvironment.get()
                        .api()
                        .call(Function.ALLOCATOR_FREE, NativeEnvironment.get().sharedAllocator(), block[0]);
            }
            factory.close();
        }

        private static boolean isRejected(Allocator allocator) {
            try {
                allocator.free(0);
                return false;
            } catch (AllocatorClosedException e) {
                return true;
            }
        }

        @Test
        void fromWithinACallIsRejectedAndChangesNothing() {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                final Allocator allocator = shared();
                final Throwable[] rejection = new Throwable[1];
                beforeAllocation = () -> {
                    try {
                        factory.releaseAllocator(allocator);
                    } catch (Throwable e) {
                        rejection[0] = e;
                    }
                };
                final long block = allocator.alloc(BYTE_SIZE);
                assertInstanceOf(IllegalStateException.class, rejection[0]);
                allocator.free(block);
                factory.releaseAllocator(allocator);
                assertThrows(UnknownAllocatorException.class, () -> factory.releaseAllocator(allocator));
                assertEquals(0, memory.bytesInUse());
            }
            factory.close();
        }

        @Test
        void endsTheNativeAllocatorBesideItsUsers() throws InterruptedException {
            final AtomicReference<Allocator> current = new AtomicReference<>(null);
            final AtomicReference<Throwable> failure = new AtomicReference<>();
            final AtomicBoolean isOver = new AtomicBoolean();
            final List<Thread> users = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                users.add(Thread.ofPlatform().start(() -> use(current, isOver, failure)));
            }
            for (int i = 0; i < 300 && failure.get() == null; i++) {
                final Allocator arena = factory.createAllocator(NativeEnvironment.CPU, AllocatorOptions.of(Map.of()));
                current.set(arena);
                arena.stats();
                factory.releaseAllocator(arena);
            }
            isOver.set(true);
            for (final Thread user : users) {
                user.join();
            }
            assertNull(failure.get());
            factory.close();
        }

        private static void use(
                AtomicReference<Allocator> current, AtomicBoolean isOver, AtomicReference<Throwable> failure) {
            while (!isOver.get()) {
                final Allocator allocator = current.get();
                try {
                    while (allocator != null) {
                        allocator.free(allocator.alloc(BYTE_SIZE));
                        allocator.free(allocator.reserve(BYTE_SIZE));
                        allocator.stats();
                    }
                } catch (AllocatorClosedException e) {
                    // Released meanwhile.
                } catch (Throwable e) {
                    failure.set(e);
                }
            }
        }
    }
}
