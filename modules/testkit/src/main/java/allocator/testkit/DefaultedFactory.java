package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** A provider with another default for one option, to run the conformance kit on what that option chooses. */
public final class DefaultedFactory extends ForwardingFactory {
    private final OptionKey<String> key;

    /** Creates a provider that replaces the default of a key, and accepts the given other values of it. */
    public DefaultedFactory(EpFactory factory, String name, String value, Set<String> others) {
        super(factory);
        final Map<String, String> values = new TreeMap<>(Map.of(value, value));
        others.forEach(other -> values.put(other, other));
        key = OptionKey.choice(name, value, values, "a default of the test's");
    }

    /** Creates a provider whose arenas are on pages unless the options name another policy. */
    public static DefaultedFactory compact(EpFactory factory) {
        return new DefaultedFactory(factory, "arena.policy", "compact", Set.of("best-fit", "slabs"));
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return super.optionKeys().stream()
                .<OptionKey<?>>map(each -> each.name().equals(key.name()) ? key : each)
                .toList();
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        return super.createAllocator(
                info,
                options.value(key.name()) == null
                        ? options.with(key.name(), key.defaultValue(), AllocatorOptions.DEFAULT)
                        : options);
    }
}
