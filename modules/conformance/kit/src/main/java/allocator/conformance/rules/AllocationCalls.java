package allocator.conformance.rules;

import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** The calls that allocate: {@code alloc}, and {@code reserve} and {@code allocOnStream} where they are supported. */
public final class AllocationCalls {
    private AllocationCalls() {}

    /** Returns the calls of an allocator, each from a size to an address, by name. */
    public static Map<String, LongUnaryOperator> of(Subject subject, Allocator allocator) {
        final Map<String, LongUnaryOperator> calls = withoutStreams(allocator);
        subject.ifStreamAware(allocator).ifPresent(streamAware -> {
            final SyncStream stream = subject.stream();
            calls.put("allocOnStream", byteSize -> streamAware.allocOnStream(byteSize, stream));
        });
        return calls;
    }

    /** Returns the calls of an allocator that need no stream. */
    public static Map<String, LongUnaryOperator> withoutStreams(Allocator allocator) {
        final Map<String, LongUnaryOperator> calls = new LinkedHashMap<>();
        calls.put("alloc", allocator::alloc);
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            calls.put("reserve", allocator::reserve);
        }
        return calls;
    }
}
