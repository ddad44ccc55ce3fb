package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.IdentityHashMap;
import java.util.function.UnaryOperator;

/**
 * A provider whose allocators are decorated, as the decorator of a session does it. With it, a decorator passes through
 * the conformance kit. A decorated allocator that is closeable is closed after its last release.
 */
public final class DecoratedFactory extends ForwardingFactory {
    private final UnaryOperator<Allocator> decorator;
    private final IdentityHashMap<Allocator, Use> uses = new IdentityHashMap<>();
    private final IdentityHashMap<Allocator, Allocator> targets = new IdentityHashMap<>();

    /** The only decorator of a provided allocator, and the references of both. */
    private static final class Use {
        private final Allocator decorated;
        private int references;

        Use(Allocator decorated) {
            this.decorated = decorated;
        }
    }

    /** Creates a provider of the allocators of another one, each decorated once. */
    public DecoratedFactory(EpFactory factory, UnaryOperator<Allocator> decorator) {
        super(factory);
        this.decorator = decorator;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final Allocator target = super.createAllocator(info, options);
        final Use use = uses.computeIfAbsent(target, key -> new Use(decorator.apply(key)));
        use.references++;
        targets.put(use.decorated, target);
        return use.decorated;
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        final Allocator target = targets.getOrDefault(allocator, allocator);
        final Use use = uses.get(target);
        if (use != null && use.references == 1) {
            close(use.decorated); // returns what it keeps, as long as it can
        }
        super.releaseAllocator(target);
        if (use != null && --use.references == 0) {
            uses.remove(target);
        }
    }

    private static void close(Allocator decorated) {
        if (decorated instanceof AutoCloseable closeable) {
            try {
                closeable.close();
            } catch (Exception e) {
                throw new AssertionError("the decorator's close failed", e);
            }
        }
    }
}
