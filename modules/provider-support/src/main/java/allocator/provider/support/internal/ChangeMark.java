package allocator.provider.support.internal;

/**
 * Shows that an error ended a change halfway. A section that changes several fields calls {@link #begin} first and
 * {@link #end} last; where an error of the virtual machine leaves it between the two, most likely since a thread's
 * stack ended there, {@link #requireWhole} rejects what follows.
 *
 * <p>Guarded by the lock of its owner, which the virtual machine releases by itself. Sections do not nest. What a
 * section takes from the Java heap, it takes before it begins: the end of the heap breaks nothing.
 */
public final class ChangeMark {
    private boolean isSet;

    /** Creates a mark that is not set. */
    public ChangeMark() {}

    /** Begins a change. */
    public void begin() {
        isSet = true;
    }

    /** Ends a change. */
    public void end() {
        isSet = false;
    }

    /**
     * Requires that no change was ended halfway.
     *
     * @param owner what is changed, for the message
     * @throws IllegalStateException if one was
     */
    public void requireWhole(Object owner) {
        if (isSet) {
            throw new IllegalStateException(owner + " is broken: an error, most likely the end of a thread's stack,"
                    + " ended an earlier call halfway. Blocks can be freed; close it to return its memory");
        }
    }
}
