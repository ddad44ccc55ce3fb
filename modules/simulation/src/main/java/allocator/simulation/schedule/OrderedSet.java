package allocator.simulation.schedule;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * A set in the order of insertion, for simulated threads. It can change during an iteration, which shows the elements
 * that were there at its start.
 *
 * @param <T> type of the elements
 */
final class OrderedSet<T> extends AbstractSet<T> {
    private final List<T> elements = new ArrayList<>();

    @Override
    public boolean add(T element) {
        return !elements.contains(element) && elements.add(element);
    }

    @Override
    public boolean remove(Object element) {
        return elements.remove(element);
    }

    @Override
    public boolean contains(Object element) {
        return elements.contains(element);
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public Iterator<T> iterator() {
        final Iterator<T> snapshot = List.copyOf(elements).iterator();
        return new Iterator<>() {
            private T last;

            @Override
            public boolean hasNext() {
                return snapshot.hasNext();
            }

            @Override
            public T next() throws NoSuchElementException {
                last = snapshot.next();
                return last;
            }

            @Override
            public void remove() {
                elements.remove(last);
            }
        };
    }
}
