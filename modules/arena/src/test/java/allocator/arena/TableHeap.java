package allocator.arena;

import allocator.arena.page.PageSource;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The Java heap of the tables of this module that an object leads to. Those of a source of pages are its own. */
public final class TableHeap {
    private static final long HEADER = 16;

    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> next = new ArrayDeque<>();

    private TableHeap() {}

    /**
     * Reads the fields of an object of this module, and of all that it leads to. No other thread may change them.
     *
     * @return bytes, approximately: a reference counts as 8
     */
    public static long of(Object root) {
        final TableHeap heap = new TableHeap();
        heap.reach(root);
        long bytes = 0;
        while (!heap.next.isEmpty()) {
            bytes += heap.visit(heap.next.pop());
        }
        return bytes;
    }

    private void reach(@Nullable Object object) {
        if (object != null && isCounted(object) && seen.add(object)) {
            next.push(object);
        }
    }

    private static boolean isCounted(Object object) {
        final Class<?> type = object.getClass();
        return type.isArray()
                || object instanceof Iterable<?>
                || (isOfThisModule(type) && !(object instanceof PageSource));
    }

    private static boolean isOfThisModule(Class<?> type) {
        return type.getPackageName().startsWith("allocator.arena");
    }

    private long visit(Object object) {
        final Class<?> type = object.getClass();
        if (object instanceof Iterable<?> list) {
            list.forEach(this::reach);
            return HEADER;
        }
        if (type.isArray()) {
            final int length = Array.getLength(object);
            for (int i = 0; i < length && object instanceof Object[] array; i++) {
                reach(array[i]);
            }
            return HEADER + length * bytes(type.getComponentType());
        }
        long bytes = HEADER;
        for (Class<?> declaring = type; isOfThisModule(declaring); declaring = declaring.getSuperclass()) {
            for (final Field field : declaring.getDeclaredFields()) {
                bytes += Modifier.isStatic(field.getModifiers()) ? 0 : visit(object, field);
            }
        }
        return bytes;
    }

    private long visit(Object object, Field field) {
        if (!field.getType().isPrimitive()) {
            try {
                field.setAccessible(true);
                reach(field.get(object));
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        return bytes(field.getType());
    }

    private static long bytes(Class<?> type) {
        return type == int.class || type == boolean.class ? Integer.BYTES : Long.BYTES;
    }
}
