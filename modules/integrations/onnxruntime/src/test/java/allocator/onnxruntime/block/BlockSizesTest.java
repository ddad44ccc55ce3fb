package allocator.onnxruntime.block;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class BlockSizesTest {
    @Property(tries = 200)
    void agreesWithAMap(@ForAll long seed) {
        final Random random = new Random(seed);
        final boolean hasNames = random.nextBoolean();
        final BlockSizes blocks = new BlockSizes(hasNames);
        final Map<Long, Long> model = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            // Few addresses, so that many are met again and their places collide.
            final long address = 64L * (1 + random.nextInt(random.nextBoolean() ? 50 : 5000));
            if (random.nextInt(100) < 55 && !model.containsKey(address)) {
                blocks.put(address, i, "block " + i);
                model.put(address, (long) i);
            } else {
                final Long expected = model.remove(address);
                assertEquals(expected == null ? BlockSizes.NONE : expected, blocks.remove(address));
            }
        }
        assertEquals(model.size(), blocks.count());
        final List<Long> seen = new ArrayList<>();
        blocks.forEach((address, byteSize, name) -> {
            assertEquals(model.get(address), byteSize);
            assertEquals(hasNames ? "block " + byteSize : null, name);
            seen.add(address);
        });
        assertEquals(model.size(), seen.size());
        model.forEach((address, byteSize) -> assertEquals(byteSize, blocks.remove(address)));
        assertEquals(0, blocks.count());
    }

    @Test
    void countsBySize() {
        final BlockSizes blocks = new BlockSizes();
        blocks.put(64, 10);
        blocks.put(128, 20);
        blocks.put(192, 10);

        assertEquals(new TreeMap<>(Map.of(10L, 2, 20L, 1)), blocks.countBySize());
    }

    @Test
    void everyAddressKeepsEverySize() {
        final long[] boundaries = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number != 0)
                .distinct()
                .toArray();
        final BlockSizes blocks = new BlockSizes();
        for (int turn = 0; turn < boundaries.length; turn++) {
            for (int i = 0; i < boundaries.length; i++) {
                blocks.put(boundaries[i], boundaries[(i + turn) % boundaries.length] & Long.MAX_VALUE);
            }
            assertEquals(boundaries.length, blocks.count());
            assertEquals(Long.MAX_VALUE, blocks.largest());
            for (int i = 0; i < boundaries.length; i++) {
                final long expected = boundaries[(i + turn) % boundaries.length] & Long.MAX_VALUE;
                assertEquals(expected, blocks.remove(boundaries[i]));
                assertEquals(BlockSizes.NONE, blocks.remove(boundaries[i]));
            }
        }
    }
}
