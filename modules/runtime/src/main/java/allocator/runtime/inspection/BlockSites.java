package allocator.runtime.inspection;

import allocator.runtime.snapshot.Snapshot.Site;
import java.lang.StackWalker.StackFrame;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Where live blocks were allocated: all of them, or one in so many, chosen at random. A block that is recorded takes
 * some microseconds for the walk of the stack, any other some nanoseconds. Safe for use by any thread.
 */
public final class BlockSites {
    private static final StackWalker STACK = StackWalker.getInstance();

    private final int interval;
    private final String noCaller;
    private final Frames frames;
    private final Map<Long, Block> live = new ConcurrentHashMap<>();

    /** A recorded block. */
    private record Block(String frame, long nanos, long byteSize) {}

    /**
     * Records no block yet.
     *
     * @param interval 1 to record every block, more to record one in so many
     * @param noCaller stands for the call site of a block where no frame is left
     * @param frames finds the frames of the program
     */
    public BlockSites(int interval, String noCaller, Frames frames) {
        this.frames = frames;
        this.interval = interval;
        this.noCaller = noCaller;
    }

    /**
     * Records a block that the calling thread has allocated, if it is one of those to be recorded. Where the Java heap
     * or the stack ends it is not.
     */
    public void allocated(long address, long byteSize) {
        if (interval > 1 && ThreadLocalRandom.current().nextInt(interval) != 0) {
            return;
        }
        try {
            live.put(address, new Block(caller(), System.nanoTime(), byteSize));
        } catch (VirtualMachineError e) {
            return; // the caller has the block, recorded or not
        }
    }

    private String caller() {
        return STACK.walk(stack -> frames.ofProgram(stack, StackFrame::getClassName)
                .findFirst()
                .map(frame -> Frames.text(frame.toStackTraceElement()))
                .orElse(noCaller));
    }

    /**
     * Forgets a block that is about to be freed: its address may be allocated again at once.
     *
     * @param address its address, or any other
     */
    public void freeing(long address) {
        live.remove(address);
    }

    /**
     * Adds where the recorded blocks were allocated.
     *
     * @param sites receives the sites by address
     */
    public void addTo(String owner, Map<Long, Site> sites) {
        final long now = System.nanoTime();
        live.forEach((address, block) -> sites.put(
                address,
                new Site(
                        owner,
                        block.frame(),
                        Math.max(0, TimeUnit.NANOSECONDS.toMillis(now - block.nanos())),
                        block.byteSize())));
    }
}
