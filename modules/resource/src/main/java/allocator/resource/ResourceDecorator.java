package allocator.resource;

import allocator.provider.support.internal.SameDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A resource that adds one concern to another, its upstream. A subclass implements {@link #doAllocate} once, for calls
 * with and without a stream, and {@link #doDeallocate} unless it leaves deallocations to the upstream.
 *
 * <p>A subclass that stores an entry for an address must add it <em>after</em> {@link #allocateUpstream} and remove it
 * <em>before</em> {@link #deallocateUpstream}. Otherwise another thread that is given the same address finds the old
 * entry. It makes the room of an entry before {@code allocateUpstream}, so that adding it cannot fail, and adds it
 * again if {@code deallocateUpstream} throws: the allocation is then still live.
 *
 * <p>A decorator is always stream-ordered. Over an upstream that is not, an allocation may be used at once on any
 * stream, and a deallocation waits for its stream. The stream must be one of the upstream's device there, too.
 */
public abstract class ResourceDecorator implements StreamOrderedMemoryResource {
    private final MemoryResource upstream;

    /** The upstream, if it is stream-ordered itself. */
    private final @Nullable StreamOrderedMemoryResource ordered;

    /**
     * Creates a decorator.
     *
     * @param upstream the resource to decorate; its owner closes it
     */
    protected ResourceDecorator(MemoryResource upstream) {
        this.upstream = upstream;
        this.ordered = upstream instanceof StreamOrderedMemoryResource already ? already : null;
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
     * Deallocates. Unless overridden, passes the call to the upstream.
     *
     * @param address what {@link #doAllocate} returned, not zero
     * @param byteSize the requested size in bytes
     * @param byteAlignment the requested alignment in bytes
     * @param stream the stream that orders the call, {@code null} for none
     */
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        deallocateUpstream(address, byteSize, byteAlignment, stream);
    }

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
        if (stream != null && ordered != null) {
            return ordered.allocate(byteSize, byteAlignment, stream);
        }
        if (stream != null) {
            requireServed(stream);
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
        if (stream != null && ordered != null) {
            ordered.deallocate(address, byteSize, byteAlignment, stream);
            return;
        }
        if (stream != null) {
            requireServed(stream);
            if (upstream.context().equals(MemoryContext.ANY)) {
                await(stream);
            }
        }
        upstream.deallocate(address, byteSize, byteAlignment);
    }

    /**
     * Waits until the work of a stream is complete.
     *
     * @throws IllegalStateException if the stream is closed and its work is not known to be done
     */
    static void await(SyncStream stream) {
        try {
            stream.flush();
        } catch (IllegalStateException e) {
            if (!stream.hasEnded()) {
                throw e;
            }
        }
    }

    /** Checks a stream for an upstream that never sees it. */
    private void requireServed(SyncStream stream) {
        SameDevice.require(stream, upstream.memory());
        if (upstream.context() instanceof MemoryContext.StreamBound bound
                && bound.stream().id() != stream.id()) {
            throw new IllegalArgumentException(
                    upstream + " is bound to " + bound.stream() + " and cannot serve " + stream);
        }
    }

    /** {@return the resource that this one decorates, its upstream} */
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
     * {@return a resource and all resources below it, its upstreams recursively}
     *
     * @param top the resource
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
