package allocator.arena;

/**
 * Says when idle extents have been moved so often that the arena had better hold more. A number of allocations allows
 * one move, and some moves may come at once, as they do when a program begins. Guarded by the arena's lock.
 */
final class MoveCap {
    /** The most moves at once. */
    private static final int BURST = 32;

    /** How many allocations allow one move. */
    private final long allocationsPerMove;

    /** In allocations. */
    private long credit;

    /** The allocations that have been credited. */
    private long credited;

    private long moves;
    private long denials;

    /** Creates a cap; with 0, any number of moves is within it. */
    MoveCap(int allocationsPerMove) {
        this.allocationsPerMove = allocationsPerMove;
        credit = BURST * this.allocationsPerMove;
    }

    /** Returns whether another move is within the cap, after so many allocations of the arena in all. */
    boolean allows(long allocations) {
        credit = Math.min(credit + allocations - credited, BURST * allocationsPerMove);
        credited = allocations;
        return credit >= allocationsPerMove;
    }

    /** Counts a move, whether it was within the cap or not. */
    void move() {
        moves++;
        credit = Math.max(0, credit - allocationsPerMove);
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
