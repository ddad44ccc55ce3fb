package allocator.runtime.inspection;

import allocator.provider.support.StackReserve;
import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Records where live blocks were allocated: of every block, or of one in so many, chosen at random. A session with the
 * option has its allocators wrapped; a session without it has nothing of this on its way.
 *
 * <p>The wrapper is a proxy of the interfaces of the contract that the allocator has, so that it has the same
 * capabilities. A call takes some hundred nanoseconds more, and a block that is recorded some microseconds for the walk
 * of the stack.
 */
public final class CallSites implements InvocationHandler {
    private static final List<Class<? extends Allocator>> CAPABILITIES = List.of(
            Allocator.class, StreamAwareAllocator.class, ShrinkableAllocator.class, HostAccessibleAllocator.class);

    private final Allocator target;
    private final BlockSites sites;

    private CallSites(Allocator target, int interval) {
        this.target = target;
        sites = new BlockSites(interval, "unknown");
    }

    /**
     * Wraps an allocator.
     *
     * @param target the allocator
     * @param interval 1 to record every block, more to record one in so many
     * @return an allocator with the same capabilities
     */
    public static Allocator wrap(Allocator target, int interval) {
        final List<Class<?>> types = new ArrayList<>();
        for (final Class<? extends Allocator> capability : CAPABILITIES) {
            if (capability.isInstance(target)) {
                types.add(capability);
            }
        }
        return (Allocator) Proxy.newProxyInstance(
                CallSites.class.getClassLoader(), types.toArray(new Class<?>[0]), new CallSites(target, interval));
    }

    /**
     * Adds where the live blocks of an allocator were allocated, if it was wrapped here.
     *
     * @param allocator any allocator
     * @param owner the owner of the blocks
     * @param sites receives the sites by address
     */
    public static void addTo(Allocator allocator, String owner, Map<Long, Site> sites) {
        if (Proxy.isProxyClass(allocator.getClass()) && Proxy.getInvocationHandler(allocator) instanceof CallSites of) {
            of.sites.addTo(owner, sites);
        }
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        final String name = method.getName();
        if (name.equals("equals") && arguments != null && method.getDeclaringClass() == Object.class) {
            return isOf(arguments[0]);
        }
        if (name.equals("free") && arguments != null) {
            free((Long) arguments[0]);
            return null;
        }
        if (method.getReturnType() == long.class && arguments != null && arguments[0] instanceof Long byteSize) {
            return allocate(name, byteSize, arguments);
        }
        return call(method, arguments);
    }

    /** Without reflection, which may fail once the target has returned an address. */
    private Long allocate(String name, long byteSize, Object[] arguments) {
        final long address = switch (name) {
            case "alloc" -> target.alloc(byteSize);
            case "reserve" -> target.reserve(byteSize);
            default -> ((StreamAwareAllocator) target).allocOnStream(byteSize, (SyncStream) arguments[1]);
        };
        final Long boxed;
        try {
            boxed = address;
        } catch (Throwable e) {
            freeAfter(e, address);
            throw e;
        }
        if (address != 0) {
            sites.allocated(address, byteSize);
        }
        return boxed;
    }

    private void freeAfter(Throwable failure, long address) {
        try {
            target.free(address);
        } catch (Throwable again) {
            Cleanup.suppress(failure, again);
        }
    }

    private boolean isOf(@Nullable Object object) {
        return object != null
                && Proxy.isProxyClass(object.getClass())
                && Proxy.getInvocationHandler(object).equals(this);
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    /** Forgets a block before it is freed: its address may be allocated again at once. */
    private void free(long address) {
        StackReserve.touch();
        final BlockSites.Block recorded = sites.remove(address);
        boolean isFreed = false;
        try {
            target.free(address);
            isFreed = true;
        } catch (DeviceException e) {
            isFreed = true; // the block is dead nevertheless
            throw e;
        } finally {
            if (!isFreed && recorded != null) {
                sites.restore(address, recorded);
            }
        }
    }
}
