package allocator.resource.tracked;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeMap;

/**
 * Events of streams whose work is complete only when a test advances them. A stream stops at a wait for an event that
 * is not done.
 */
public final class FakeEvents implements StreamEvents {
    private final TreeMap<Long, Deque<Operation>> queues = new TreeMap<>();
    private final Set<Long> live = new HashSet<>();
    private final Set<Long> done = new HashSet<>();
    private long lastEvent;
    private int records;
    private int waits;
    private int probes;
    private int mostLive;
    private String failing = "";

    private record Operation(long event, boolean isWait) {}

    /** Creates events of streams without work. */
    public FakeEvents() {}

    @Override
    public synchronized long record(SyncStream stream) {
        requireOpen(stream);
        failIf("record");
        records++;
        final long event = ++lastEvent;
        live.add(event);
        mostLive = Math.max(mostLive, live.size());
        queue(stream).add(new Operation(event, false));
        return event;
    }

    @Override
    public synchronized void await(SyncStream stream, long event) {
        requireOpen(stream);
        requireLive(event);
        failIf("await");
        waits++;
        queue(stream).add(new Operation(event, true));
    }

    @Override
    public synchronized boolean isDone(long event) {
        requireLive(event);
        probes++;
        failIf("isDone");
        return done.contains(event);
    }

    @Override
    public synchronized void release(long event) {
        requireLive(event);
        live.remove(event);
    }

    private static void requireOpen(SyncStream stream) {
        if (stream.hasEnded() || (stream instanceof FakeStream fake && fake.isClosed())) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    private void requireLive(long event) {
        if (!live.contains(event)) {
            throw new AssertionError("event " + event + " is released");
        }
    }

    private Deque<Operation> queue(SyncStream stream) {
        return queues.computeIfAbsent(stream.id(), id -> new ArrayDeque<>());
    }

    private void failIf(String method) {
        if (failing.equals(method)) {
            failing = "";
            throw new DeviceException("injected failure of " + method, null);
        }
    }

    /**
     * Makes the next call of a method fail.
     *
     * @param method its name
     */
    public synchronized void failNext(String method) {
        failing = method;
    }

    /**
     * Completes the work of a stream, up to a wait for an event that is not done.
     *
     * @param stream the stream
     * @return whether anything was completed
     */
    public synchronized boolean advance(SyncStream stream) {
        return advance(queue(stream));
    }

    private boolean advance(Deque<Operation> queue) {
        boolean hasAdvanced = false;
        while (!queue.isEmpty() && (!queue.getFirst().isWait || done.contains(queue.getFirst().event))) {
            done.add(queue.removeFirst().event);
            hasAdvanced = true;
        }
        return hasAdvanced;
    }

    /** Completes the work of all streams. */
    public synchronized void advanceAll() {
        boolean hasAdvanced;
        do {
            hasAdvanced = false;
            for (Deque<Operation> queue : queues.values()) {
                hasAdvanced |= advance(queue);
            }
        } while (hasAdvanced);
    }

    synchronized int records() {
        return records;
    }

    synchronized int waits() {
        return waits;
    }

    synchronized int probes() {
        return probes;
    }

    synchronized int live() {
        return live.size();
    }

    synchronized int mostLive() {
        return mostLive;
    }
}
