package allocator.onnxruntime.support;

import allocator.spi.InvalidOptionException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * An option of GPU memory under the name that providers use. ONNX Runtime has two more names for the settings of its
 * CUDA arena: {@code ep.cuda.arena.<key>}, canonical since its CUDA execution provider is a plug-in, and the fields
 * {@code gpu_mem_limit} and {@code arena_extend_strategy} of its older CUDA options.
 *
 * @param key the key as providers know it
 */
public record CudaOption(String key, String value) {
    /** How the arena's keys begin in the settings of a session. ONNX Runtime compares them in lower case. */
    private static final List<String> PREFIXES =
            List.of("ep.cuda.", "ep.cudaexecutionprovider.", "ep.cudapluginexecutionprovider.");

    private static final String ARENA = "arena.";
    private static final String MAX_MEM = ARENA + "max_mem";

    /** Values of ONNX Runtime that mean the arena; -1 is its default. */
    private static final List<String> NO_MEMPOOL = List.of("0", "-1");

    private static final String USE_MEMPOOL = ARENA + "use_cuda_mempool";
    private static final String ORIGIN = "GPU memory";

    /** The largest value of a {@code size_t}, ONNX Runtime's default of {@code gpu_mem_limit}. */
    private static final String NO_LIMIT = "18446744073709551615";

    private static final Map<String, String> EXTEND_STRATEGIES =
            Map.of("kNextPowerOfTwo", "0", "kSameAsRequested", "1");

    /**
     * Translates an option.
     *
     * @throws InvalidOptionException if it is one of ONNX Runtime's with a value that has no counterpart here
     */
    public static CudaOption of(String key, String value) {
        final String name = withoutPrefix(key);
        final boolean isOfOrt = !name.equals(key);
        return switch (name) {
            case "gpu_mem_limit" -> new CudaOption(MAX_MEM, limit(value));
            case MAX_MEM -> new CudaOption(name, isOfOrt ? limit(value) : value);
            case "arena_extend_strategy" ->
                new CudaOption("arena.extend_strategy", EXTEND_STRATEGIES.getOrDefault(value, value));
            case USE_MEMPOOL -> {
                if (isOfOrt && !NO_MEMPOOL.contains(value)) {
                    throw new InvalidOptionException(
                            key,
                            value,
                            "accepted here: choose the provider, by GpuMemory.of(\"cuda-mempool\")",
                            ORIGIN);
                }
                yield new CudaOption(name, isOfOrt ? "0" : value);
            }
            default -> new CudaOption(name, value);
        };
    }

    private static String limit(String value) {
        return value.equals(NO_LIMIT) ? "0" : value;
    }

    private static String withoutPrefix(String key) {
        final String lower = key.toLowerCase(Locale.ROOT);
        for (final String prefix : PREFIXES) {
            if (lower.startsWith(prefix + ARENA)) {
                return lower.substring(prefix.length());
            }
        }
        return key;
    }

    /**
     * Rejects the settings of an arena among those of a session that takes its GPU memory from an installation: ONNX
     * Runtime would ignore them.
     *
     * @throws InvalidOptionException for the first of them
     */
    public static void requireNoArena(Collection<Map.Entry<String, String>> settings) {
        for (final Map.Entry<String, String> setting : settings) {
            final String key = setting.getKey();
            final String name = withoutPrefix(key);
            if (!name.equals(key)) {
                throw new InvalidOptionException(
                        key,
                        setting.getValue(),
                        "accepted for a session whose GPU memory is installed: give it to GpuMemory.withOption,"
                                + " or limit the session by SessionSettings.withGpuBudget",
                        "session options");
            }
        }
    }
}
