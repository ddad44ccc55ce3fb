package allocator.onnxruntime.ep.abi;

import allocator.onnxruntime.support.OrtApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The structs of one kind that ONNX Runtime holds, each with its Java object.
 *
 * <p>The memory of a struct is never returned to the system, so that a late call of ONNX Runtime never reaches freed
 * memory; that of a removed one serves the next. A call on a struct that was removed finds no object.
 *
 * @param <T> the objects
 */
public final class NativeObjects<T> {
    private final long byteSize;
    private final BiConsumer<T, MemorySegment> members;
    private final Map<Long, T> objects = new ConcurrentHashMap<>();

    /** Structs without an object. Guards itself. */
    private final Deque<Long> idle = new ArrayDeque<>();

    /**
     * Makes an empty table.
     *
     * @param byteSize the size of a struct
     * @param members writes the members of a struct, which is zero
     */
    public NativeObjects(long byteSize, BiConsumer<T, MemorySegment> members) {
        this.byteSize = byteSize;
        this.members = members;
    }

    /** Makes the struct of an object and returns its address. */
    public long add(T object) {
        final MemorySegment struct = take();
        boolean isAdded = false;
        try {
            struct.fill((byte) 0);
            members.accept(object, struct);
            objects.put(struct.address(), object);
            isAdded = true;
        } finally {
            if (!isAdded) {
                giveBack(struct.address());
            }
        }
        return struct.address();
    }

    private MemorySegment take() {
        synchronized (idle) {
            final Long address = idle.pollFirst();
            if (address != null) {
                return OrtApi.view(address, byteSize);
            }
        }
        return Arena.global().allocate(byteSize, Long.BYTES);
    }

    /** Without heap to record it, the memory of the struct is lost; the removal goes on. */
    private void giveBack(long struct) {
        try {
            synchronized (idle) {
                idle.addLast(struct);
            }
        } catch (OutOfMemoryError e) {
            // A few hundred bytes, once.
        }
    }

    /** Returns the object of a struct, {@code null} if the address is not that of a struct here. */
    public @Nullable T get(long struct) {
        return objects.get(struct);
    }

    /** Removes a struct and returns its object, {@code null} if it is removed already. */
    public @Nullable T remove(long struct) {
        final T object = objects.remove(struct);
        if (object != null) {
            giveBack(struct);
        }
        return object;
    }

    /** Returns how many structs there are. */
    public int count() {
        return objects.size();
    }
}
