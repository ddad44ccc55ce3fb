package allocator.resource;

import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A resource that adds one concern to another, its upstream. A subclass implements {@link #doAllocate} and
 * {@link #doDeallocate} once, for calls with and without a stream.
 *
 * <p>A subclass that stores an entry for an address must add it <em>after</em> {@link #allocateUpstream} and remove it
 * <em>before</em> {@link #deallocateUpstream}. Otherwise another thread that is given the same address finds the old
 * entry. It makes the room of an entry before {@code allocateUpstream}, so that adding it cannot fail, and adds it
 * again if {@code deallocateUpstream} throws: the allocation is then still live.
 *
 * <p>A decorator is always stream-ordered; {@link StreamOrderedMemoryResource#of} adapts an upstream that is not.
 */
public abstract class ResourceDecorator implements StreamOrderedMemoryResource {
    private final MemoryResource upstream;
    private final StreamOrderedMemoryResource ordered;

    /**
     * Creates a decorator.
     *
     * @param upstream the resource to decorate; its owner closes it
     */
    protected ResourceDecorator(MemoryResource upstream) {
        this.upstream = upstream;
        this.ordered = StreamOrderedMemoryResource.of(upstream);
    }

    /**
     * Allocates. The arguments are checked.
     *
     * @param byteSize size in bytes, above zero
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream the stream that orders the call, {@code null} for none
     * @param isReserve whether the memory lives as long as a session; there is no stream then
     * @return the address, not zero
     */
    protected abstract long doAllocate(
            long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve);

    /**
     * Deallocates.
     *
     * @param address what {@link #doAllocate} returned, not zero
     * @param byteSize the requested size in bytes
     * @param byteAlignment the requested alignment in bytes
     * @param stream the stream that orders the call, {@code null} for none
     */
    protected abstract void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream);

    /**
     * Allocates from the upstream in the way of a call: on a stream, without one, or as a reserve.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream the stream that orders the call, {@code null} for none
     * @param isReserve whether the memory lives as long as a session; there is no stream then
     * @return the address
     */
    protected final long allocateUpstream(
            long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (stream != null) {
            return ordered.allocate(byteSize, byteAlignment, stream);
        }
        return isReserve ? upstream.reserve(byteSize, byteAlignment) : upstream.allocate(byteSize, byteAlignment);
    }

    /**
     * Deallocates memory of the upstream.
     *
     * @param address what {@link #allocateUpstream} returned
     * @param byteSize the size requested from the upstream, in bytes
     * @param byteAlignment the alignment requested from the upstream, in bytes
     * @param stream the stream that orders the call, {@code null} for none
     */
    protected final void deallocateUpstream(
            long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (stream == null) {
            upstream.deallocate(address, byteSize, byteAlignment);
        } else {
            ordered.deallocate(address, byteSize, byteAlignment, stream);
        }
    }

    /**
     * Returns the resource that this one decorates.
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
        return byteSize == 0 ? 0 : doAllocate(byteSize, byteAlignment, null, false);
    }

    @Override
    public final long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        Requests.requireValid(byteSize, byteAlignment);
        return byteSize == 0 ? 0 : doAllocate(byteSize, byteAlignment, stream, false);
    }

    @Override
    public final long reserve(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        return byteSize == 0 ? 0 : doAllocate(byteSize, byteAlignment, null, true);
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment) {
        if (address != 0) {
            doDeallocate(address, byteSize, byteAlignment, null);
        }
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address != 0) {
            doDeallocate(address, byteSize, byteAlignment, stream);
        }
    }

    @Override
    public ShrinkReport shrink() {
        return upstream.shrink();
    }

    /**
     * Returns a resource and all resources below it.
     *
     * @param top the resource
     * @return the resource and its upstreams, recursively
     */
    protected static Stream<MemoryResource> stack(MemoryResource top) {
        return Stream.concat(Stream.of(top), top.upstreams().stream().flatMap(ResourceDecorator::stack));
    }

    /**
     * Checks that a stack contains no resource that must not be below a new decorator.
     *
     * @param upstream the top of the stack
     * @param isOutOfPlace matches such a resource
     * @param message what is wrong and what to do instead
     * @throws StackOrderException if one matches
     */
    protected static void requireNone(MemoryResource upstream, Predicate<MemoryResource> isOutOfPlace, String message) {
        if (stack(upstream).anyMatch(isOutOfPlace)) {
            throw new StackOrderException(message);
        }
    }

    @Override
    public String toString() {
        return getClass().getSimpleName().replace("Resource", "") + "(" + upstream + ")";
    }
}
