package allocator.bench.subject;

/** The blocks of one thread, each in a slot. A subject has one class of these, so that calls of it are compiled in. */
public abstract class Slots {
    /** Allocates a block into a slot that is empty. */
    public abstract void alloc(int slot, int byteSize);

    /** Frees the block of a slot. */
    public abstract void free(int slot);

    /** Writes a byte into every 4 KiB of a slot's block, so that the system gives it memory. */
    public abstract void touch(int slot, int byteSize);
}
