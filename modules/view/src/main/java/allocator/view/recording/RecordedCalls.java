package allocator.view.recording;

import java.time.Duration;

/**
 * The calls of one kind by which an allocator took memory from a device or returned it, or sessions fell asleep or
 * woke.
 *
 * @param memory the memory
 * @param operation {@code growth}, {@code shrink}, {@code map}, {@code unmap}, {@code sleep} or {@code wake}
 * @param part what was taken or returned: {@code region}, {@code pages} and others; empty otherwise
 * @param calls how many calls there were
 * @param failed how many of them failed
 * @param bytes the bytes of those that succeeded
 * @param total the time that all of them took
 * @param longest the time that the longest took
 */
public record RecordedCalls(
        RecordedMemory memory,
        String operation,
        String part,
        long calls,
        long failed,
        long bytes,
        Duration total,
        Duration longest) {
    RecordedCalls plus(RecordedCalls others) {
        return new RecordedCalls(
                memory,
                operation,
                part,
                calls + others.calls,
                failed + others.failed,
                Math.addExact(bytes, others.bytes),
                total.plus(others.total),
                longest.compareTo(others.longest) < 0 ? others.longest : longest);
    }
}
