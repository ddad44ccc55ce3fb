package allocator.bench.subject;

import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads of a JVM in which JMH measures Netty, whose allocators keep caches for threads of its own kind only. With
 * several threads, JMH may give a thread's blocks to another thread between two iterations.
 */
public final class NettyThreads extends ThreadPoolExecutor {
    /** Makes the threads; called by JMH. */
    public NettyThreads(int count, String prefix) {
        super(count, count, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
            final Thread thread = new FastThreadLocalThread(work, prefix + "-netty");
            thread.setDaemon(true);
            return thread;
        });
    }
}
