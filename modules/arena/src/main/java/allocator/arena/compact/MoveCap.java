package allocator.arena.compact;

/**
 * Says when idle extents have been moved so often that the arena had better hold more. A thousand allocations allow one
 * move, and some moves may come at once, as they do when a program begins. Guarded by the arena's lock.
 */
final class MoveCap {
    /** How many allocations allow one move. */
    private static final int ALLOCATIONS = 1000;

    /** The most moves at once. */
    private static final int BURST = 32;

    /** In allocations. */
    private long credit = BURST * ALLOCATIONS;

    /** The allocations that have been credited. */
    private long credited;

    private long moves;
    private long denials;

    /** Returns whether another move is within the cap, after so many allocations of the arena in all. */
    boolean allows(long allocations) {
        credit = Math.min(credit + allocations - credited, BURST * ALLOCATIONS);
        credited = allocations;
        return credit >= ALLOCATIONS;
    }

    /** Counts a move, whether it was within the cap or not. */
    void move() {
        moves++;
        credit = Math.max(0, credit - ALLOCATIONS);
    }

    /** Counts an extent that was created since no move was within the cap. */
    void deny() {
        denials++;
    }

    long moves() {
        return moves;
    }

    long denials() {
        return denials;
    }
}
