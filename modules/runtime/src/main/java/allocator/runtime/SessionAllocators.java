package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.runtime.SessionPlanner.Part;
import allocator.runtime.options.ShrinkTarget;
import allocator.runtime.transfer.StagingMemory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The allocators of a session: one for each memory, those of read-only memory apart. Immutable. */
final class SessionAllocators {
    static final SessionAllocators NONE = new SessionAllocators(new ManagedAllocator[0], List.of(), List.of());

    private final Map<MemoryLocation, ManagedAllocator> byLocation = new LinkedHashMap<>();
    private final Map<MemoryLocation, ManagedAllocator> readOnly = new LinkedHashMap<>();
    private final ManagedAllocator[] opened;
    private final @Nullable ManagedAllocator defaultAllocator;

    private SessionAllocators(ManagedAllocator[] opened, List<Part> parts, List<ProviderDevice> devices) {
        this.opened = opened;
        for (int i = 0; i < opened.length; i++) {
            final MemoryInfo info = parts.get(i).info();
            (info.isReadOnly() ? readOnly : byLocation).put(info.location(), opened[i]);
        }
        defaultAllocator = devices.stream()
                .flatMap(device -> device.device().memoryInfos().stream())
                .filter(info -> !info.isReadOnly())
                .map(info -> byLocation.get(info.location()))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    /**
     * Opens the allocators of a plan, all or none. If this method throws, every part is released.
     *
     * @param opener opens one allocator; releases its part if it throws
     */
    static SessionAllocators open(SessionPlanner.Plan plan, Function<Part, ManagedAllocator> opener) {
        final List<Part> parts = plan.parts();
        @Nullable ManagedAllocator[] opened = null;
        int next = 0;
        try {
            opened = new ManagedAllocator[parts.size()];
            while (next < parts.size()) {
                final int i = next;
                next++;
                opened[i] = opener.apply(parts.get(i));
            }
            return new SessionAllocators(opened, parts, plan.devices());
        } catch (Throwable e) {
            undo(opened, parts, next, e);
            throw e;
        }
    }

    /** Abandons the parts that were not opened, and closes the others, last one first. */
    private static void undo(
            @Nullable ManagedAllocator @Nullable [] opened, List<Part> parts, int next, Throwable cause) {
        for (int i = parts.size() - 1; i >= 0; i--) {
            try {
                if (i >= next) {
                    parts.get(i).abandon();
                } else if (opened != null && opened[i] != null) {
                    opened[i].close();
                }
            } catch (Throwable e) {
                Failures.suppress(cause, e);
            }
        }
    }

    /** Rejects allocations from here on. Allocates nothing. */
    void rejectAllocations() {
        for (final ManagedAllocator allocator : opened) {
            allocator.lease().rejectAllocations();
        }
    }

    /** Closes the allocators, last one first. */
    void close(Failures failures) {
        for (int i = opened.length - 1; i >= 0; i--) {
            failures.run(opened[i]::close);
        }
    }

    /** Releases allocators whose blocks were freed through other owners. */
    void settle(Failures failures) {
        for (final ManagedAllocator allocator : opened) {
            failures.run(allocator.lease()::settle);
        }
    }

    /** Returns whether every allocator is released, and none is just being returned to its provider. */
    boolean isFinished() {
        for (final ManagedAllocator allocator : opened) {
            if (!allocator.lease().isFinished()) {
                return false;
            }
        }
        return true;
    }

    /** Returns the allocator of the first memory of the first device that has one, or {@code null}. */
    @Nullable
    ManagedAllocator defaultAllocator() {
        return defaultAllocator;
    }

    Optional<ManagedAllocator> find(MemoryLocation location) {
        return Optional.ofNullable(byLocation.get(location));
    }

    Optional<ManagedAllocator> findForInitializers(MemoryLocation location) {
        return Optional.ofNullable(readOnly.get(location)).or(() -> find(location));
    }

    /** Returns the allocators without those of read-only memory, in the order of the devices. */
    List<ManagedAllocator> list() {
        return List.copyOf(byLocation.values());
    }

    /** Returns the memory that both the host and a device reach. */
    List<StagingMemory> pinned() {
        return byLocation.values().stream()
                .filter(allocator -> allocator.info().memoryType() == MemoryType.HOST_ACCESSIBLE)
                .filter(ManagedAllocator::isHostAccessible)
                .map(allocator -> StagingMemory.of(allocator, allocator::segment))
                .toList();
    }

    /** Returns all allocators, those of read-only memory last. */
    Stream<ManagedAllocator> all() {
        return Stream.concat(byLocation.values().stream(), readOnly.values().stream());
    }

    /**
     * Finds the arenas that a list names: each instance once, in the order of the list.
     *
     * @param origin where the list was given, for a message
     * @throws InvalidOptionException if an entry of the list matches no arena
     */
    List<ManagedAllocator> arenasToShrink(List<ShrinkTarget> targets, String list, String origin) {
        final List<ManagedAllocator> arenas =
                byLocation.values().stream().filter(ManagedAllocator::isArena).toList();
        final List<ManagedAllocator> resolved = new ArrayList<>();
        for (final ShrinkTarget target : targets) {
            final List<ManagedAllocator> matching = arenas.stream()
                    .filter(arena -> target.matches(arena.info()))
                    .toList();
            if (matching.isEmpty()) {
                throw target.matchesNone(
                        list,
                        origin,
                        arenas.stream().map(ManagedAllocator::info).toList());
            }
            for (final ManagedAllocator arena : matching) {
                if (resolved.stream().noneMatch(arena::isSameInstanceAs)) {
                    resolved.add(arena);
                }
            }
        }
        return resolved;
    }
}
