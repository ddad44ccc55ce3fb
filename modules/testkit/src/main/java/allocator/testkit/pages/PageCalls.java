package allocator.testkit.pages;

import java.util.function.IntToLongFunction;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/**
 * The calls of a page source: references to the methods of an {@code allocator.arena.page.PageSource}, which this
 * module does not see.
 *
 * @param pageBytes {@code PageSource.pageBytes}
 * @param reserving {@code PageSource.reserve}
 * @param unreserving {@code PageSource.unreserve}
 * @param creating {@code PageSource.create}
 * @param releasing {@code PageSource.release}
 * @param mapping {@code PageSource.map}
 * @param unmapping {@code PageSource.unmap}
 * @param closing {@code PageSource.close}
 */
public record PageCalls(
        LongSupplier pageBytes,
        LongUnaryOperator reserving,
        TwoLongs unreserving,
        IntToLongFunction creating,
        LongConsumer releasing,
        TwoLongs mapping,
        LongConsumer unmapping,
        Runnable closing) {

    /** A call with two arguments. */
    @FunctionalInterface
    public interface TwoLongs {
        void call(long first, long second);
    }

    long reserve(long byteSize) {
        return reserving.applyAsLong(byteSize);
    }

    void unreserve(long address, long byteSize) {
        unreserving.call(address, byteSize);
    }

    long create() {
        return create(1);
    }

    long create(int size) {
        return creating.applyAsLong(size);
    }

    void release(long extent) {
        releasing.accept(extent);
    }

    void map(long address, long extent) {
        mapping.call(address, extent);
    }

    void unmap(long address) {
        unmapping.accept(address);
    }

    void close() {
        closing.run();
    }
}
