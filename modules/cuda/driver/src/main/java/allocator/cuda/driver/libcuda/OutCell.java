package allocator.cuda.driver.libcuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.cuda.driver.CudaResult;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Native memory for one call: the driver writes its results there and reads small structures from it.
 *
 * <p>A fixed table of cells of one cache line each. A call takes a cell and gives it back; a thread tries the same cell
 * first each time, so threads rarely contend. Not a {@code ThreadLocal}: there would be one for each virtual thread,
 * and a cell is needed only between two instructions of a thread that cannot be unmounted there.
 */
final class OutCell {
    private static final int BYTE_SIZE = 64;
    private static final int COUNT = 1024;
    private static final int MASK = COUNT - 1;

    /** Offset of a structure in a cell, behind the results. */
    static final int STRUCTURE = 32;

    private static final MemorySegment CELLS = Arena.global().allocate((long) COUNT * BYTE_SIZE, BYTE_SIZE);
    private static final long BASE = CELLS.address();

    /** One entry for each cache line, 1 while the cell is taken. */
    private static final AtomicIntegerArray TAKEN = new AtomicIntegerArray(COUNT * (BYTE_SIZE / Integer.BYTES));

    private OutCell() {}

    static int take() {
        int cell = (int) Thread.currentThread().threadId() & MASK;
        while (!TAKEN.compareAndSet(cell * (BYTE_SIZE / Integer.BYTES), 0, 1)) {
            cell = (cell + 1) & MASK;
            Thread.onSpinWait();
        }
        return cell;
    }

    static void giveBack(int cell) {
        TAKEN.setRelease(cell * (BYTE_SIZE / Integer.BYTES), 0);
    }

    static long address(int cell) {
        return BASE + (long) cell * BYTE_SIZE;
    }

    static long getLong(int cell) {
        return CELLS.get(JAVA_LONG, (long) cell * BYTE_SIZE);
    }

    /** Reads a call's result into {@code value[0]} if the call succeeded; returns the call's result code. */
    static int readLong(int result, int cell, long[] value) {
        if (result == CudaResult.SUCCESS) {
            value[0] = getLong(cell);
        }
        return result;
    }

    static int getInt(int cell) {
        return CELLS.get(JAVA_INT, (long) cell * BYTE_SIZE);
    }

    static void setLong(int cell, long value) {
        CELLS.set(JAVA_LONG, (long) cell * BYTE_SIZE, value);
    }

    static void setInt(int cell, int offset, int value) {
        CELLS.set(JAVA_INT, (long) cell * BYTE_SIZE + offset, value);
    }

    static void clearStructure(int cell) {
        CELLS.asSlice((long) cell * BYTE_SIZE + STRUCTURE, BYTE_SIZE - STRUCTURE)
                .fill((byte) 0);
    }
}
