package allocator.runtime.transfer;

import allocator.provider.support.internal.Failures;
import allocator.runtime.transfer.StagingMemory.Buffer;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Pieces between a memory and buffers, copied by a provider; on a stream of its own if it has one. */
final class RangeHalf implements Pipeline.Half {
    private final ProviderTransfer transfer;
    private final MemoryRange range;
    private final boolean isReading;
    private final StagingBuffers buffers;
    private final @Nullable LentStream lent;
    private final Failures failures = new Failures();
    private final @Nullable SyncStream stream;

    /** Whether a piece may be under way. */
    private boolean isBusy;

    /**
     * @param range the source or the target as a whole
     * @param isReading whether it is the source
     * @param buffers what the pieces go through; kept as long as a stream may use them that could not be awaited
     * @param lent the stream, which this half takes last and gives back
     */
    RangeHalf(
            ProviderTransfer transfer,
            MemoryRange range,
            boolean isReading,
            StagingBuffers buffers,
            Optional<LentStream> lent) {
        this.transfer = transfer;
        this.range = range;
        this.isReading = isReading;
        this.buffers = buffers;
        this.lent = lent.orElse(null);
        stream = this.lent == null ? null : this.lent.take();
    }

    @Override
    public void move(long offset, Buffer buffer, long byteSize) {
        final MemoryRange part = new MemoryRange(range.memory(), range.address() + offset, byteSize);
        final MemoryRange staged = buffer.range(byteSize);
        isBusy = true;
        if (isReading) {
            transfer.copy(part, staged, stream);
        } else {
            transfer.copy(staged, part, stream);
        }
        isBusy = stream != null;
    }

    @Override
    public void await() {
        if (isBusy && stream != null) {
            stream.flush();
        }
        isBusy = false;
    }

    @Override
    public void close() {
        if (lent == null) {
            return;
        }
        try {
            await();
        } catch (Throwable e) {
            failures.add(e);
        }
        try {
            if (isBusy) {
                lent.discard(buffers.keep());
            } else {
                lent.giveBack();
            }
        } catch (Throwable e) {
            failures.add(e);
        }
        failures.throwIfAny();
    }
}
