package allocator.arena.upstream;

/**
 * The monitor of an arena under which its device is called: {@code synchronized} releases it also where a thread's
 * stack has ended.
 */
public final class DeviceLock {
    private volatile boolean isBusy;

    /** Returns whether the calling thread holds this monitor. */
    public boolean isHeld() {
        return Thread.holdsLock(this);
    }

    /** Marks the begin or the end of an allocation of pages, which may take long. Under this monitor. */
    public void setBusy(boolean busy) {
        isBusy = busy;
    }

    /** Returns whether a thread allocates pages, so that others had better search once more. */
    public boolean isBusy() {
        return isBusy;
    }
}
