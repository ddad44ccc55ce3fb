package allocator.runtime;

import allocator.runtime.options.OptionPlace;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.testkit.ForwardingFactory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;

/**
 * A provider of host memory as its sessions see it: a create opens a session with the given settings and returns what
 * the session gets, a release closes the session. With it, {@link ManagedAllocator} passes through the conformance kit.
 *
 * <p>Sessions that share an instance share an object here, as the kit requires of a provider.
 */
final class SessionFactory extends ForwardingFactory {
    private final Environment environment = Environments.empty();
    private final List<SessionAllocator> allocators = new ArrayList<>();
    private boolean isClosed;

    SessionFactory(EpFactory factory) {
        super(factory);
        environment.register(new ForwardingFactory(factory) {
            @Override
            public void close() {
                // The enclosing object does it.
            }
        });
        environment
                .sharedAllocators()
                .forEach(allocator ->
                        environment.releaseSharedAllocator(allocator.info().location()));
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        options.requireValid(optionKeys());
        if (isClosed || !isListed(info)) {
            return super.createAllocator(info, options); // which rejects it
        }
        final SessionOptions.Builder settings = SessionOptions.builder().provider(name());
        // Read-only memory has no settings. A limit would mean that initializers are reserves of the arena.
        (info.isReadOnly() ? AllocatorOptions.EMPTY : options)
                .toMap()
                .forEach((key, value) -> settings.option("ep." + name().toLowerCase(Locale.ROOT) + "." + key, value));
        final Session session = environment.openSession(settings.build());
        final ManagedAllocator managed = info.isReadOnly()
                ? session.initializerAllocator(info.location()).orElseThrow()
                : session.allocator(info.location()).orElseThrow();
        for (final SessionAllocator known : allocators) {
            if (known.managed.isSameInstanceAs(managed)) {
                known.sessions.add(session);
                return known;
            }
        }
        final SessionAllocator fresh =
                managed.isStreamAware() ? new SessionArena(managed, options) : new SessionAllocator(managed, options);
        fresh.sessions.add(session);
        allocators.add(fresh);
        return fresh;
    }

    private boolean isListed(MemoryInfo info) {
        return discoverDevices().devices().stream()
                .anyMatch(device -> device.memoryInfos().contains(info));
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        if (!(allocator instanceof SessionAllocator known) || !allocators.contains(known)) {
            throw new UnknownAllocatorException("there is no session of " + allocator);
        }
        final long live = known.managed.liveBlocks();
        // The first session stays longest, since the allocator is its.
        known.sessions.removeLast().close();
        if (known.sessions.isEmpty()) {
            allocators.remove(known);
            Assumptions.assumeTrue(
                    live == 0,
                    "a session's memory lives until its last block is freed (L-03), and so does its allocator");
        }
    }

    @Override
    public synchronized void close() {
        if (allocators.isEmpty()) {
            super.close();
        }
        environment.close();
        isClosed = true;
    }

    /** An allocator of a session, by its type. */
    private static class SessionAllocator implements HostAccessibleAllocator {
        final ManagedAllocator managed;
        private final AllocatorOptions requested;
        private final List<Session> sessions = new ArrayList<>();

        SessionAllocator(ManagedAllocator managed, AllocatorOptions requested) {
            this.managed = managed;
            this.requested = requested;
        }

        @Override
        public long alloc(long byteSize) {
            return managed.alloc(byteSize);
        }

        @Override
        public long reserve(long byteSize) {
            return managed.reserve(byteSize);
        }

        @Override
        public void free(long address) {
            managed.free(address);
        }

        @Override
        public MemoryInfo info() {
            return managed.info();
        }

        @Override
        public int spiLevel() {
            return managed.spiLevel();
        }

        @Override
        public AllocatorStats stats() {
            return managed.stats();
        }

        /**
         * Returns the settings. What the session has set was set by the caller of the create, which gave its origin.
         */
        @Override
        public AllocatorOptions effectiveOptions() {
            AllocatorOptions effective = managed.effectiveOptions();
            for (final String key : requested.keys()) {
                final String value = effective.value(key);
                if (value != null && effective.origin(key).equals(OptionPlace.SESSION.origin())) {
                    effective = effective.with(key, value, requested.origin(key));
                }
            }
            return effective;
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            return managed.segment(address, byteSize);
        }
    }

    /** An arena of a session. */
    private static final class SessionArena extends SessionAllocator
            implements StreamAwareAllocator, ShrinkableAllocator {
        SessionArena(ManagedAllocator managed, AllocatorOptions requested) {
            super(managed, requested);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return managed.allocOnStream(byteSize, stream);
        }

        @Override
        public boolean isOrderedByDevice() {
            return managed.isOrderedByDevice();
        }

        @Override
        public ShrinkReport shrink() {
            return managed.shrink();
        }
    }
}
