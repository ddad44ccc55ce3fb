package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StreamUsersTest {
    private final Set<Object> open = Collections.newSetFromMap(new IdentityHashMap<>());
    private final StreamUsers<Object> users = new StreamUsers<>(open::contains);

    private Object addOpen() {
        final Object user = new Object();
        open.add(user);
        users.add(user);
        return user;
    }

    @Test
    void eachIsKnownOnceWhileItIsOpen() {
        final Object first = addOpen();
        final Object second = addOpen();
        users.add(first);
        users.add(second);
        assertThat(users.open()).containsExactlyInAnyOrder(first, second);
        open.remove(second);
        assertThat(users.open()).containsExactly(first);
        assertThat(users.count()).isEqualTo(1);
    }

    @Test
    void theLatestIsRecordedAgainWhenItWasForgotten() {
        final Object user = new Object();
        users.add(user);
        assertThat(users.open()).isEmpty();
        open.add(user);
        users.add(user);
        assertThat(users.open()).containsExactly(user);
    }

    @Test
    void thoseThatAreNotOpenAreForgottenThoughNobodyAsks() {
        final Object lasting = addOpen();
        for (int i = 0; i < 40_000; i++) {
            open.remove(addOpen());
        }
        assertThat(users.count()).isLessThan(50);
        assertThat(users.open()).containsExactly(lasting);
    }

    /** The lock of a table of references, which another thread holds while it waits for the stream. */
    @Test
    void thePredicateMayWaitForAThreadThatAddsAnAllocator() {
        final Thread[] adding = new Thread[1];
        final StreamUsers<Object> foreign = new StreamUsers<>(user -> {
            join(adding[0]);
            return true;
        });
        adding[0] = Thread.ofPlatform().daemon().unstarted(() -> foreign.add("second"));
        foreign.add("first");
        assertTimeoutPreemptively(Duration.ofSeconds(10), () -> {
            adding[0].start();
            foreign.open();
        });
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
