package allocator.runtime;

import allocator.runtime.SessionPlanner.Part;
import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.options.ShrinkTarget;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryLocation;
import java.util.ArrayList;
import java.util.Collections;
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
    static final SessionAllocators NONE = new SessionAllocators(Map.of(), Map.of(), List.of());

    private final Map<MemoryLocation, ManagedAllocator> byLocation;
    private final Map<MemoryLocation, ManagedAllocator> readOnly;
    private final @Nullable ManagedAllocator defaultAllocator;

    private SessionAllocators(
            Map<MemoryLocation, ManagedAllocator> byLocation,
            Map<MemoryLocation, ManagedAllocator> readOnly,
            List<ProviderDevice> devices) {
        this.byLocation = Collections.unmodifiableMap(byLocation);
        this.readOnly = Collections.unmodifiableMap(readOnly);
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
        final Cleanup cleanup = new Cleanup();
        final Map<MemoryLocation, ManagedAllocator> opened = new LinkedHashMap<>();
        final Map<MemoryLocation, ManagedAllocator> openedReadOnly = new LinkedHashMap<>();
        final List<Part> parts = plan.parts();
        int next = 0;
        try {
            while (next < parts.size()) {
                final Part part = parts.get(next);
                next++;
                final ManagedAllocator allocator = opener.apply(part);
                cleanup.onUndo(allocator::close);
                (part.info().isReadOnly() ? openedReadOnly : opened)
                        .put(part.info().location(), allocator);
            }
        } catch (RuntimeException e) {
            parts.subList(next, parts.size()).forEach(part -> cleanup.onUndo(part::abandon));
            throw cleanup.undo(e);
        }
        return new SessionAllocators(opened, openedReadOnly, plan.devices());
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

    /** Returns all allocators, those of read-only memory last. */
    Stream<ManagedAllocator> all() {
        return Stream.concat(byLocation.values().stream(), readOnly.values().stream());
    }

    /**
     * Finds the arenas that a run shrinks: each instance once, in the order of the list.
     *
     * @throws InvalidOptionException if an entry of the list matches no arena
     */
    List<ManagedArena> arenasToShrink(RunOptions options) {
        final List<ManagedArena> arenas = byLocation.values().stream()
                .flatMap(allocator -> allocator.asArena().stream())
                .toList();
        final List<ManagedArena> resolved = new ArrayList<>();
        for (final ShrinkTarget target : options.shrinkTargets()) {
            final List<ManagedArena> matching = arenas.stream()
                    .filter(arena -> target.matches(arena.info()))
                    .toList();
            if (matching.isEmpty()) {
                throw target.matchesNone(
                        options.shrinkList(),
                        arenas.stream().map(ManagedArena::info).toList());
            }
            for (final ManagedArena arena : matching) {
                if (resolved.stream().noneMatch(arena::isSameAs)) {
                    resolved.add(arena);
                }
            }
        }
        return resolved;
    }
}
