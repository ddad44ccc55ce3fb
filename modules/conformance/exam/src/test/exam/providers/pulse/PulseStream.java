package exam.pulse;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.locks.LockSupport;

/** A queue of commands of a card, worked off by a thread that stands for the card. */
final class PulseStream extends SyncStream {
    /** The least time that the card takes for a command. */
    private static final long COMMAND_NANOS = 50_000;

    private final Factory factory;
    private final long handle;
    private final Thread card = new Thread(this::work, "pulse-stream-" + id());
    private final Object lock = new Object();
    /** The command that the card does next or is doing, and the last one; null if there is none. */
    private Command first;

    private Command last;
    private long submitted;
    private long completed;
    private Throwable fault;
    private boolean isClosed;

    /** A command in the queue. */
    private static final class Command {
        final Runnable action;
        Command next;

        Command(Runnable action) {
            this.action = action;
        }
    }

    /** Runs that ended, and how many commands the last of them covers. */
    private long runs;

    private long runEnd;

    PulseStream(Factory factory, MemoryInfo memory, long handle) {
        super(memory);
        this.factory = factory;
        this.handle = handle;
    }

    void start() {
        card.setDaemon(true);
        card.start();
    }

    private void work() {
        while (true) {
            final Command command;
            synchronized (lock) {
                while (first == null) {
                    if (isClosed) {
                        return;
                    }
                    pause();
                }
                command = first;
            }
            Throwable failure = null;
            try {
                LockSupport.parkNanos(COMMAND_NANOS);
                command.action.run();
            } catch (Throwable e) {
                failure = e;
            }
            synchronized (lock) {
                first = command.next;
                completed++;
                if (fault == null) {
                    fault = failure;
                }
                lock.notifyAll();
            }
        }
    }

    private void pause() {
        try {
            lock.wait();
        } catch (InterruptedException e) {
            // Nothing interrupts the card.
        }
    }

    Factory factory() {
        return factory;
    }

    int ordinal() {
        return memory().deviceOrdinal();
    }

    void requireOpen() {
        synchronized (lock) {
            if (isClosed) {
                throw new IllegalStateException(this + " is closed");
            }
        }
    }

    /** Queues a command. */
    void submit(Runnable action) {
        final Command command = new Command(action);
        synchronized (lock) {
            requireOpen();
            if (first == null) {
                first = command;
            } else {
                last.next = command;
            }
            last = command;
            submitted++;
            lock.notifyAll();
        }
    }

    /** Returns how many commands were submitted. */
    long submitted() {
        synchronized (lock) {
            return submitted;
        }
    }

    /** Returns whether the first commands are done. */
    boolean isDone(long commands) {
        synchronized (lock) {
            return completed >= commands;
        }
    }

    /** Waits until the first commands are done, also if the thread is interrupted. */
    void await(long commands) {
        boolean isInterrupted = false;
        synchronized (lock) {
            while (completed < commands) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns how many runs have ended on this stream. */
    long runs() {
        synchronized (lock) {
            return runs;
        }
    }

    /** Returns whether a run ended after a moment, and covered the commands that were submitted by then. */
    boolean hasRunEndedSince(long runsThen, long submittedThen) {
        synchronized (lock) {
            return runs > runsThen && runEnd >= submittedThen;
        }
    }

    private void throwFault() {
        synchronized (lock) {
            if (fault != null) {
                final Throwable thrown = fault;
                fault = null;
                throw new DeviceException("the work of " + this + " failed: " + thrown.getMessage(), thrown);
            }
        }
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public SyncNotification createNotification() {
        requireOpen();
        return new PulseEvent(this);
    }

    @Override
    public void flush() {
        requireOpen();
        await(submitted());
        throwFault();
    }

    @Override
    public void onSessionRunEnd() {
        requireOpen();
        final long mark = submitted();
        await(mark);
        throwFault();
        synchronized (lock) {
            runEnd = Math.max(runEnd, mark);
            runs++;
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            lock.notifyAll();
        }
        await(submitted());
        setEnded();
        factory.streamClosed(this);
        throwFault();
    }
}
