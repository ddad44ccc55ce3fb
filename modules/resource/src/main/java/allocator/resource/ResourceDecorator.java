package allocator.resource;

import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A resource that adds one concern to another, its upstream. A subclass says what happens around {@link #takeUpstream}
 * and {@link #giveBackUpstream}, once for both forms of a call, with and without a stream.
 *
 * <p>What a subclass keeps about an address it removes <em>before</em> the upstream gets the memory back, and adds
 * <em>after</em> the upstream handed it out; otherwise a second thread meets the old entry of an address that is in use
 * again.
 *
 * <p>A decorator is stream-ordered whatever its upstream is, as {@link StreamOrderedMemoryResource#of} has it.
 */
public abstract class ResourceDecorator implements StreamOrderedMemoryResource {
    private final MemoryResource upstream;
    private final StreamOrderedMemoryResource ordered;

    /**
     * Begins a decorator.
     *
     * @param upstream what it draws from; stays its owner's
     */
    protected ResourceDecorator(MemoryResource upstream) {
        this.upstream = upstream;
        this.ordered = StreamOrderedMemoryResource.of(upstream);
    }

    /**
     * Allocates.
     *
     * @param byteSize size in bytes, above zero
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream the stream that orders the call, {@code null} for none
     * @return the address, not zero
     */
    protected abstract long take(long byteSize, long byteAlignment, @Nullable SyncStream stream);

    /**
     * Deallocates.
     *
     * @param address what {@link #take} returned, not zero
     * @param byteSize the size that was asked for
     * @param byteAlignment the alignment that was asked for
     * @param stream the stream that orders the call, {@code null} for none
     */
    protected abstract void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream);

    /**
     * Allocates from the upstream.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream the stream that orders the call, {@code null} for none
     * @return the address
     */
    protected final long takeUpstream(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        return stream == null
                ? upstream.allocate(byteSize, byteAlignment)
                : ordered.allocate(byteSize, byteAlignment, stream);
    }

    /**
     * Gives memory back to the upstream.
     *
     * @param address what {@link #takeUpstream} returned
     * @param byteSize the size that it was asked for
     * @param byteAlignment the alignment that it was asked for
     * @param stream the stream that orders the call, {@code null} for none
     */
    protected final void giveBackUpstream(
            long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (stream == null) {
            upstream.deallocate(address, byteSize, byteAlignment);
        } else {
            ordered.deallocate(address, byteSize, byteAlignment, stream);
        }
    }

    /**
     * What this decorator draws from.
     *
     * @return the upstream
     */
    public final MemoryResource upstream() {
        return upstream;
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream);
    }

    @Override
    public MemoryInfo memory() {
        return upstream.memory();
    }

    @Override
    public MemoryKind kind() {
        return upstream.kind();
    }

    @Override
    public MemoryContext context() {
        return upstream.context();
    }

    @Override
    public final long allocate(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        return byteSize == 0 ? 0 : take(byteSize, byteAlignment, null);
    }

    @Override
    public final long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        Requests.requireValid(byteSize, byteAlignment);
        return byteSize == 0 ? 0 : take(byteSize, byteAlignment, stream);
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment) {
        if (address != 0) {
            giveBack(address, byteSize, byteAlignment, null);
        }
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address != 0) {
            giveBack(address, byteSize, byteAlignment, stream);
        }
    }

    @Override
    public ShrinkReport shrink() {
        return upstream.shrink();
    }

    /** A resource and everything beneath it. */
    static Stream<MemoryResource> stack(MemoryResource top) {
        return Stream.concat(Stream.of(top), top.upstreams().stream().flatMap(ResourceDecorator::stack));
    }

    /** Refuses a stack in which something stands below that must not. */
    static void requireNone(MemoryResource upstream, Predicate<MemoryResource> isOutOfPlace, String message) {
        if (stack(upstream).anyMatch(isOutOfPlace)) {
            throw new StackOrderException(message);
        }
    }

    @Override
    public String toString() {
        return getClass().getSimpleName().replace("Resource", "") + "(" + upstream + ")";
    }
}
