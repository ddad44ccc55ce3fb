package allocator.conformance.rules;

import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** The calls that allocate: {@code alloc}, and {@code reserve} and {@code allocOnStream} where they are supported. */
final class AllocationCalls {
    private AllocationCalls() {}

    /** Returns the calls of an allocator, each from a size to an address, by name. */
    static Map<String, LongUnaryOperator> of(Subject subject, Allocator allocator) {
        final Map<String, LongUnaryOperator> calls = new LinkedHashMap<>();
        calls.put("alloc", allocator::alloc);
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            calls.put("reserve", allocator::reserve);
        }
        if (allocator instanceof StreamAwareAllocator streamAware
                && allocator.spiLevel() >= SpiLevel.STREAMS
                && subject.factory().isStreamAware(subject.memory())) {
            final SyncStream stream = subject.stream();
            calls.put("allocOnStream", byteSize -> streamAware.allocOnStream(byteSize, stream));
        }
        return calls;
    }
}
