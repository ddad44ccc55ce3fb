package allocator.bench.scale;

import java.util.SequencedMap;
import java.util.function.IntConsumer;

/** Many of one kind in one allocator or environment, and what is done beside them. */
abstract class Crowd implements AutoCloseable {
    /** Makes a member; members are made in the order of their numbers, from 0. */
    abstract void add(int index);

    /** What is measured beside the members, by name: each takes how many members there are. */
    abstract SequencedMap<String, IntConsumer> operations();

    /** Ends a member; the last one first. */
    abstract void remove(int index);

    /** Gives back what is free, after the last member was removed. */
    void shrink() {}

    /** Ends everything; members that are left end with it. */
    @Override
    public abstract void close();
}
