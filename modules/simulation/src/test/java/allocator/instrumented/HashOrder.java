package allocator.instrumented;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** Iterates over collections of objects without hash codes of their own. */
public final class HashOrder implements Supplier<List<Boolean>> {
    private static final int MANY = 100;

    /** Returns for a set and two maps whether they keep the order of insertion. */
    @Override
    public List<Boolean> get() {
        final List<Object> elements = new ArrayList<>();
        final Set<Object> set = new HashSet<>(2);
        final Map<Object, Object> map = new HashMap<>();
        final IdentityHashMap<Object, Object> byIdentity = new IdentityHashMap<>();
        for (int i = 0; i < MANY; i++) {
            final Object element = new Object();
            elements.add(element);
            set.add(element);
            map.put(element, element);
            byIdentity.put(element, element);
        }
        return List.of(
                List.copyOf(set).equals(elements),
                List.copyOf(new HashMap<>(map).keySet()).equals(elements),
                List.copyOf(byIdentity.values()).equals(elements));
    }
}
