package allocator.provider.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class StackReserveTest {
    private static final long STACK_BYTES = 256 << 10;
    private static final int THREADS = 30;
    private static final int WARM = 50_000;

    /** What is touched, and how many frames of a short method surely fit into it, interpreted or compiled. */
    @SuppressWarnings("ImmutableEnumChecker") // the actions hold nothing
    enum Touch {
        DEEP(StackReserve::touchDeep, 400),
        FULL(StackReserve::touch, 100),
        SHALLOW(StackReserve::touchShallow, 20),
        BRIEF(StackReserve::touchBriefly, 8);

        private final Runnable touch;
        private final int frames;

        Touch(Runnable touch, int frames) {
            this.touch = touch;
            this.frames = frames;
        }
    }

    private int ends;

    @Test
    void workOnItsOwnStackIsDoneAndAnInterruptIsSetAgain() {
        final int[] depth = new int[1];
        Thread.currentThread().interrupt();
        StackReserve.runOnOwnStack("deep", 64 << 20, () -> {
            assertFalse(Thread.currentThread().isInterrupted());
            depth[0] = descend(100_000);
        });
        assertTrue(Thread.interrupted());
        assertEquals(100_000, depth[0]);
    }

    private static int descend(int frames) {
        return frames == 0 ? 0 : 1 + descend(frames - 1);
    }

    @ParameterizedTest
    @EnumSource
    void whereATouchReturnsThereIsStackForCalls(Touch touch) throws InterruptedException {
        for (int i = 0; i < WARM; i++) {
            touch.touch.run();
        }
        final Throwable[] failure = new Throwable[1];
        for (int padding = 0; padding < THREADS; padding++) {
            final int frames = padding;
            final Thread thread = new Thread(
                    null,
                    () -> {
                        try {
                            pad(frames, touch);
                        } catch (Throwable e) {
                            failure[0] = e;
                        }
                    },
                    "small stack",
                    STACK_BYTES);
            thread.start();
            thread.join();
            assertNull(failure[0]);
        }
        assertEquals(THREADS, ends);
    }

    /** Moves the frames of {@link #descend} in the stack, whose end is a page. */
    private void pad(int frames, Touch touch) {
        if (frames == 0) {
            assertTrue(descend(touch));
        } else {
            pad(frames - 1, touch);
        }
    }

    /** Calls itself until a touch throws, and some short methods from the deepest frame in which one returned. */
    @SuppressWarnings("InfiniteRecursion") // It ends where the stack does.
    private boolean descend(Touch touch) {
        try {
            touch.touch.run();
        } catch (StackOverflowError e) {
            return false;
        }
        if (!descend(touch)) {
            call(touch.frames);
            ends++;
        }
        return true;
    }

    private static int call(int frames) {
        return frames == 0 ? 0 : call(frames - 1) + 1;
    }
}
