package allocator.simulation.schedule;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * What instrumented code has in place of an {@link IdentityHashMap}: its keys and values are in the order of insertion,
 * and not in that of identity hash codes, which are others in each run.
 *
 * @param <K> type of the keys
 * @param <V> type of the values
 */
@SuppressWarnings("ReferenceEquality") // the keys of the map are equal if they are the same
public final class OrderedMap<K, V> extends IdentityHashMap<K, V> {
    private static final long serialVersionUID = 1L;

    private final transient List<K> order = new ArrayList<>();

    /** The most entries that there were: the map has room for as many. */
    private int room;

    /** Creates an empty map. */
    public OrderedMap() {}

    public OrderedMap(int expected) {
        super(expected);
    }

    /** Creates a copy of a map of this class. */
    @SuppressWarnings("unchecked")
    public OrderedMap(Map<? extends K, ? extends V> other) {
        ((OrderedMap<K, V>) other).order.forEach(key -> put(key, other.get(key)));
    }

    @Override
    public V put(K key, V value) {
        if (!containsKey(key)) {
            if (size() == room) {
                Points.allocation();
                room++;
            }
            order.add(key);
        }
        return super.put(key, value);
    }

    @Override
    public V remove(Object key) {
        order.removeIf(other -> other == key);
        return super.remove(key);
    }

    @Override
    public Collection<V> values() {
        return order.stream().map(this::get).toList();
    }

    @Override
    public Set<K> keySet() {
        return new AbstractSet<>() {
            @Override
            public Iterator<K> iterator() {
                return List.copyOf(order).iterator();
            }

            @Override
            public boolean removeIf(Predicate<? super K> filter) {
                final List<K> removed = order.stream().filter(filter).toList();
                removed.forEach(this::remove);
                return !removed.isEmpty();
            }

            @Override
            public boolean remove(Object key) {
                final boolean isThere = containsKey(key);
                OrderedMap.this.remove(key);
                return isThere;
            }

            @Override
            public int size() {
                return OrderedMap.this.size();
            }
        };
    }

    @Override
    public Set<Map.Entry<K, V>> entrySet() {
        throw new UnsupportedOperationException("the entries have no order here");
    }
}
