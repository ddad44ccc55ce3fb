package allocator.bench.pairs;

import allocator.bench.subject.Slots;

/** One thread's place in its workload. */
public final class Player {
    private final Slots slots;
    private final int[] fill;
    private final int[] events;
    private final int[] sizes;
    private final int unit;
    private final boolean[] isLive;
    private int next;

    public Player(Workload workload, Slots slots) {
        this.slots = slots;
        fill = workload.fill();
        events = workload.events();
        sizes = workload.sizes();
        unit = workload.unit();
        isLive = new boolean[workload.slots()];
    }

    /** Makes the blocks that are there before the first event. */
    public void fill() {
        for (int slot = 0; slot < fill.length; slot++) {
            slots.alloc(slot, fill[slot]);
        }
    }

    /** Plays a unit: so many events that the clock need not be asked in between. */
    public int playUnit() {
        play(unit);
        return unit;
    }

    /** Plays events, from the first again after the last. */
    public void play(int count) {
        int i = next;
        for (int done = 0; done < count; done++) {
            final int event = events[i];
            if (event >= 0) {
                slots.alloc(event, sizes[i]);
            } else {
                slots.free(~event);
            }
            if (++i == events.length) {
                i = 0;
            }
        }
        next = i;
    }

    /** Touches the memory of every block of the fill. */
    void touchAll() {
        for (int slot = 0; slot < fill.length; slot++) {
            slots.touch(slot, fill[slot]);
        }
    }

    /** Plays events and touches the memory of each block. */
    void playTouching(int count) {
        int i = next;
        for (int done = 0; done < count; done++) {
            final int event = events[i];
            if (event >= 0) {
                slots.alloc(event, sizes[i]);
                slots.touch(event, sizes[i]);
            } else {
                slots.free(~event);
            }
            if (++i == events.length) {
                i = 0;
            }
        }
        next = i;
    }

    /** Frees what lives. */
    public void drain() {
        for (int slot = 0; slot < fill.length; slot++) {
            isLive[slot] = true;
        }
        for (int i = 0; i < next; i++) {
            final int event = events[i];
            isLive[event >= 0 ? event : ~event] = event >= 0;
        }
        for (int slot = 0; slot < isLive.length; slot++) {
            if (isLive[slot]) {
                slots.free(slot);
            }
        }
    }
}
