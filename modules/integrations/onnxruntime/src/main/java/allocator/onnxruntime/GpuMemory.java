package allocator.onnxruntime;

import allocator.onnxruntime.support.CudaOption;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Where the sessions of an installation take the memory of one CUDA device from: the device's own memory and pinned
 * host memory. Immutable; start from {@link #of(String)}.
 *
 * <pre>{@code
 * GpuMemory.of("cuda-arena").withOption("arena.max_mem", "2147483648")
 * }</pre>
 */
public final class GpuMemory {
    private final @Nullable String providerName;
    private final @Nullable EpFactory provider;
    private final int ordinal;
    private final Map<String, String> options;
    private final Map<String, String> pinnedOptions;
    private final long budget;

    private GpuMemory(
            @Nullable String providerName,
            @Nullable EpFactory provider,
            int ordinal,
            Map<String, String> options,
            Map<String, String> pinnedOptions,
            long budget) {
        this.providerName = providerName;
        this.provider = provider;
        this.ordinal = ordinal;
        this.options = options;
        this.pinnedOptions = pinnedOptions;
        this.budget = budget;
    }

    /**
     * Takes the memory of device 0 from a provider on the module path or the class path.
     *
     * @param providerName the provider's name, such as {@code cuda-arena}
     * @return the settings
     */
    public static GpuMemory of(String providerName) {
        return new GpuMemory(
                Objects.requireNonNull(providerName, "providerName"),
                null,
                0,
                Map.of(),
                Map.of(),
                AllocatorStats.UNLIMITED);
    }

    /**
     * Takes the memory of device 0 from a provider that the caller closes, after the installation.
     *
     * @param provider the provider
     * @return the settings
     */
    public static GpuMemory of(EpFactory provider) {
        return new GpuMemory(
                null, Objects.requireNonNull(provider, "provider"), 0, Map.of(), Map.of(), AllocatorStats.UNLIMITED);
    }

    /**
     * {@return these settings for another device}
     *
     * @param deviceOrdinal the device's ordinal, from 0; the one that {@code OrtCUDAProviderOptions} names
     * @throws IllegalArgumentException if it is negative
     */
    public GpuMemory withOrdinal(int deviceOrdinal) {
        if (deviceOrdinal < 0) {
            throw new IllegalArgumentException("the ordinal of a device is " + deviceOrdinal + "; it is at least 0");
        }
        return new GpuMemory(providerName, provider, deviceOrdinal, options, pinnedOptions, budget);
    }

    /**
     * {@return these settings with an option of the allocator of device memory} ONNX Runtime's own names are accepted
     * as well: {@code ep.cuda.arena.*}, and {@code gpu_mem_limit} and {@code arena_extend_strategy} of its CUDA
     * options.
     *
     * @param key the key, such as {@code arena.max_mem}
     * @param value its value
     * @throws InvalidOptionException if the key is one of ONNX Runtime's whose value has no counterpart here
     */
    public GpuMemory withOption(String key, String value) {
        return new GpuMemory(providerName, provider, ordinal, with(options, key, value), pinnedOptions, budget);
    }

    /**
     * {@return these settings with an option of the allocator of pinned memory}
     *
     * @param key the key, such as {@code arena.max_mem}; ONNX Runtime's names are accepted as in {@link #withOption}
     * @param value its value
     * @throws InvalidOptionException as {@link #withOption}
     */
    public GpuMemory withPinnedOption(String key, String value) {
        return new GpuMemory(providerName, provider, ordinal, options, with(pinnedOptions, key, value), budget);
    }

    /**
     * {@return these settings with a budget: the most device memory that all sessions together may have in use, in
     * requested bytes} What the allocator may take from the device is limited by its own options, such as
     * {@code arena.max_mem}.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public GpuMemory withBudget(long bytes) {
        return new GpuMemory(providerName, provider, ordinal, options, pinnedOptions, bytes);
    }

    private static Map<String, String> with(Map<String, String> options, String key, String value) {
        final Map<String, String> more = new TreeMap<>(options);
        final CudaOption option =
                CudaOption.of(Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
        more.put(option.key(), option.value());
        return Map.copyOf(more);
    }

    Optional<String> providerName() {
        return Optional.ofNullable(providerName);
    }

    Optional<EpFactory> provider() {
        return Optional.ofNullable(provider);
    }

    int ordinal() {
        return ordinal;
    }

    Map<String, String> options() {
        return options;
    }

    Map<String, String> pinnedOptions() {
        return pinnedOptions;
    }

    long budget() {
        return budget;
    }
}
