package allocator.conformance.subject;

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
 * Makes calls with a time limit. Each call runs on a thread of its own; when its time limit expires, the thread is
 * interrupted and abandoned, so that a hanging provider cannot hang the kit. A call that works beside other processes
 * gets more time.
 */
public final class Watchdog {
    /**
     * How many time limits a call may take where other processes have the processors: it works, and has not had the
     * processor for as long as its limit.
     */
    public static final int MOST_LIMITS = 4;

    /** In how many parts of a time limit it is seen whether a call works. */
    private static final int PARTS = 4;

    /** What fraction of a part the process works at least, if it is no hang. */
    private static final int LEAST_WORK = 100;

    private static final int FRAMES = 12;

    /** How long an interrupted thread may take to end before it is abandoned. */
    private static final Duration GRACE = Duration.ofMillis(200);

    /** The threads that a thread dump shows; the JVM keeps no list of virtual threads. */
    private static final Set<Thread> WATCHED = ConcurrentHashMap.newKeySet();

    private Watchdog() {}

    /**
     * Runs the body, waits for it and returns its result.
     *
     * @param what the name of its thread
     * @param limit the time limit, none above 292 years
     * @throws HangError if the time limit expires before the body returns, or four of them where it works and other
     *     processes have the processors
     * @throws Throwable what the body throws
     */
    public static <T> T call(String what, Duration limit, Callable<T> body) throws Throwable {
        final FutureTask<T> task = new FutureTask<>(body);
        final Thread thread = Thread.ofPlatform().daemon().name(what).unstarted(task);
        final boolean isCallerWatched = WATCHED.contains(Thread.currentThread());
        watch(thread);
        thread.start();
        try {
            return await(task, TimeUnit.NANOSECONDS.convert(limit));
        } catch (ExecutionException e) {
            throw e.getCause();
        } catch (TimeoutException _) {
            final HangError hang =
                    new HangError("did not return within " + seconds(limit) + " s; thread dump:\n" + dump());
            // The caller goes on, and may be watched itself.
            WATCHED.removeIf(Watchdog::isCaller);
            WATCHED.forEach(Thread::interrupt);
            thread.join(GRACE);
            WATCHED.clear();
            if (isCallerWatched) {
                watch(Thread.currentThread());
            }
            throw hang;
        } finally {
            WATCHED.remove(thread);
        }
    }

    private static <T> T await(FutureTask<T> task, long limit)
            throws InterruptedException, ExecutionException, TimeoutException {
        final long part = limit / PARTS;
        final long begin = processorTime();
        long before = begin;
        for (int parts = PARTS - 1; ; parts++) {
            try {
                return task.get(parts < PARTS ? limit - part : part, TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                final long now = processorTime();
                final boolean isStarved = now - before > part / LEAST_WORK && now - begin < limit;
                if (parts >= PARTS && (!isStarved || parts >= MOST_LIMITS * PARTS)) {
                    throw e;
                }
                before = now;
            }
        }
    }

    /** Returns for how many nanoseconds this process has had a processor; always 0 where that is not known. */
    private static long processorTime() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElse(Duration.ZERO)
                .toNanos();
    }

    /** Adds a thread to thread dumps, and to those interrupted when a time limit expires. */
    static void watch(Thread thread) {
        WATCHED.add(thread);
    }

    /** Reverses {@link #watch}. */
    static void unwatch(Thread thread) {
        WATCHED.remove(thread);
    }

    private static boolean isCaller(Thread thread) {
        return thread.equals(Thread.currentThread());
    }

    private static String seconds(Duration limit) {
        final double seconds = TimeUnit.MILLISECONDS.convert(limit) / 1000.0;
        return seconds == Math.rint(seconds) ? Long.toString((long) seconds) : Double.toString(seconds);
    }

    /** Returns the stack of each watched thread and the lock it waits for. */
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
