package exam.tlsf;

/** The live blocks by address: open addressing. Only {@link #ensureRoom} takes Java heap. */
final class BlockTable {
    private Block[] slots = new Block[64];
    private int size;

    /** Makes room for one more. */
    void ensureRoom() {
        if (size < slots.length / 2) {
            return;
        }
        final Block[] old = slots;
        final Block[] larger = new Block[old.length * 2];
        slots = larger;
        for (Block block : old) {
            if (block != null) {
                slots[slotOf(block.address)] = block;
            }
        }
    }

    void put(Block block) {
        slots[slotOf(block.address)] = block;
        size++;
    }

    /** Returns the live block that starts at an address, or null. */
    Block get(long address) {
        return slots[slotOf(address)];
    }

    void remove(Block block) {
        int hole = slotOf(block.address);
        slots[hole] = null;
        size--;
        final int mask = slots.length - 1;
        for (int i = (hole + 1) & mask; slots[i] != null; i = (i + 1) & mask) {
            final int home = home(slots[i].address);
            if (((i - home) & mask) >= ((i - hole) & mask)) {
                slots[hole] = slots[i];
                slots[i] = null;
                hole = i;
            }
        }
    }

    /** Returns the live block around an address, or null. Slow. */
    Block around(long address) {
        for (Block block : slots) {
            if (block != null && block.contains(address)) {
                return block;
            }
        }
        return null;
    }

    int size() {
        return size;
    }

    /** Returns the live blocks, in no order, with gaps. */
    Block[] all() {
        return slots;
    }

    private int slotOf(long address) {
        final int mask = slots.length - 1;
        int i = home(address);
        while (slots[i] != null && slots[i].address != address) {
            i = (i + 1) & mask;
        }
        return i;
    }

    private int home(long address) {
        final long hash = (address >>> 4) * 0x9E3779B97F4A7C15L;
        return (int) (hash >>> 40) & (slots.length - 1);
    }
}
