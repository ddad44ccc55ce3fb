package allocator.view.recording;

import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** The live blocks at a moment of a recording, as a snapshot has them outside regions. */
final class RecordedStates {
    private RecordedStates() {}

    /** Returns the live blocks of each memory after an event; none after event -1. */
    static List<AllocatorState> at(List<BlockEvent> events, int last) {
        final LiveRecorded live = new LiveRecorded();
        for (int i = 0; i <= last; i++) {
            live.apply(events.get(i));
        }
        final Map<RecordedMemory, List<BlockEvent>> byMemory = new LinkedHashMap<>();
        live.all()
                .forEach(block -> byMemory.computeIfAbsent(block.memory(), _ -> new ArrayList<>())
                        .add(block));
        final List<AllocatorState> states = new ArrayList<>();
        byMemory.forEach((memory, blocks) ->
                states.add(state(memory, blocks, events.get(last).nanos())));
        states.sort(Comparator.comparing(state -> state.memory().toString()));
        return states;
    }

    private static AllocatorState state(RecordedMemory memory, List<BlockEvent> blocks, long now) {
        blocks.sort((a, b) -> Long.compareUnsigned(a.address(), b.address()));
        final List<Chunk> chunks = new ArrayList<>(blocks.size());
        final Map<Long, Site> sites = new HashMap<>();
        final Map<String, Long> users = new TreeMap<>();
        long requested = 0;
        for (final BlockEvent block : blocks) {
            chunks.add(new Chunk(block.address(), block.byteSize(), block.byteSize(), State.LIVE, block.stream()));
            sites.put(
                    block.address(),
                    new Site(
                            block.owner(),
                            block.site(),
                            TimeUnit.NANOSECONDS.toMillis(now - block.nanos()),
                            block.byteSize()));
            users.merge(block.owner(), 1L, Long::sum);
            requested += block.byteSize(); // the profile has shown that it fits
        }
        return new AllocatorState(
                "recording",
                info(memory),
                Map.of(),
                new AllocatorStats.Builder()
                        .limit(AllocatorStats.UNLIMITED)
                        .inUse(requested, requested, requested)
                        .held(requested, requested)
                        .build(),
                users.entrySet().stream()
                        .map(user -> new User(user.getKey(), user.getValue()))
                        .toList(),
                new AllocatorSnapshot(List.of(), chunks),
                "",
                sites);
    }

    /** Returns a memory as its events name it; its alignment and kind are not recorded. */
    static MemoryInfo info(RecordedMemory memory) {
        return new MemoryInfo(
                memory.name().isBlank() ? "memory" : memory.name(), location(memory.device()), 1, AllocatorType.DEVICE);
    }

    /** Reads {@code gpu:1} or {@code gpu:1 host-accessible}; another text is taken for the first CPU. */
    private static MemoryLocation location(String device) {
        for (final DeviceType type : DeviceType.values()) {
            for (final MemoryType memory : MemoryType.values()) {
                final String prefix = type.id() + ":";
                final String suffix = memory == MemoryType.DEFAULT ? "" : " host-accessible";
                if (device.startsWith(prefix) && device.endsWith(suffix)) {
                    final String ordinal = device.substring(prefix.length(), device.length() - suffix.length());
                    if (ordinal.matches("[0-9]{1,9}")) {
                        return new MemoryLocation(type, 0, Integer.parseInt(ordinal), memory);
                    }
                }
            }
        }
        return new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT);
    }
}
