package allocator.conformance;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Calls that cannot hang the kit: each runs on a thread of its own, which is interrupted and left behind when its time
 * is over.
 */
final class Guarded {
    private static final int FRAMES = 12;

    /** How long a thread that was interrupted may take to end before it is left behind. */
    private static final Duration GRACE = Duration.ofMillis(200);

    /** Threads of the kit that a dump shows; virtual ones are in no other list. */
    private static final Set<Thread> WATCHED = ConcurrentHashMap.newKeySet();

    private Guarded() {}

    /**
     * Runs the body and waits for it.
     *
     * @throws HangError if it has not returned when its time is over
     * @throws Throwable what the body throws
     */
    static <T> T call(String what, Duration limit, Callable<T> body) throws Throwable {
        final FutureTask<T> task = new FutureTask<>(body);
        final Thread thread = Thread.ofPlatform().daemon().name(what).unstarted(task);
        watch(thread);
        thread.start();
        try {
            return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause();
        } catch (TimeoutException _) {
            final HangError hang = new HangError(
                    "did not return within " + seconds(limit) + " s; what the threads were doing then:\n" + dump());
            WATCHED.forEach(Thread::interrupt);
            thread.join(GRACE);
            WATCHED.clear();
            throw hang;
        } finally {
            WATCHED.remove(thread);
        }
    }

    static void watch(Thread thread) {
        WATCHED.add(thread);
    }

    static void unwatch(Thread thread) {
        WATCHED.remove(thread);
    }

    private static String seconds(Duration limit) {
        final double seconds = limit.toMillis() / 1000.0;
        return seconds == Math.rint(seconds) ? Long.toString((long) seconds) : Double.toString(seconds);
    }

    /** The kit's own threads, with the locks that they wait for. */
    private static String dump() {
        final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        final long[] deadlocked = threads.findDeadlockedThreads();
        final StringBuilder text = new StringBuilder();
        if (deadlocked != null) {
            text.append("DEADLOCK among ").append(deadlocked.length).append(" threads\n");
        }
        final Map<Thread, StackTraceElement[]> platform = Thread.getAllStackTraces();
        WATCHED.stream().sorted(Comparator.comparingLong(Thread::threadId)).forEach(thread -> {
            text.append('"').append(thread.getName()).append('"');
            text.append(thread.isVirtual() ? " virtual " : " ").append(thread.getState());
            final ThreadInfo info = thread.isVirtual() ? null : threads.getThreadInfo(thread.threadId());
            if (info != null && info.getLockName() != null) {
                text.append(" on ").append(info.getLockName());
                if (info.getLockOwnerName() != null) {
                    text.append(" held by \"").append(info.getLockOwnerName()).append('"');
                }
            }
            text.append('\n');
            Arrays.stream(platform.getOrDefault(thread, thread.getStackTrace()))
                    .limit(FRAMES)
                    .forEach(frame -> text.append("    at ").append(frame).append('\n'));
        });
        return text.toString();
    }
}
