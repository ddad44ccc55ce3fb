package allocator.bench.scale;

/** Many of one kind in one allocator or environment, and what is done beside them. */
abstract class Crowd implements AutoCloseable {
    /** Makes a member; members are made in the order of their numbers, from 0. */
    abstract void add(int index);

    /** Uses a member out of {@code count}: a free and an allocation, or a run. */
    abstract void use(int count);

    /** Uses a member, and ends its run where it has runs that are not ended by the use. */
    void useAndEndRun(int count) {
        use(count);
    }

    /** Makes one more member, uses it and ends it. */
    abstract void comeAndGo();

    /** Ends a member; the last one first. */
    abstract void remove(int index);

    /** Gives back what is free, after the last member was removed. */
    void shrink() {}

    /** Ends everything; members that are left end with it. */
    @Override
    public abstract void close();
}
