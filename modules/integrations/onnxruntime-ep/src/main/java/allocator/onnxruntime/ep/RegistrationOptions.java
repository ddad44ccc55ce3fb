package allocator.onnxruntime.ep;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Settings of the allocators of several providers, under keys of the form {@code ep_factory.<provider>.<key>}. */
final class RegistrationOptions {
    private static final String PREFIX = "ep_factory.";

    private RegistrationOptions() {}

    /**
     * Returns the settings of one provider: those of ONNX Runtime's environment, overridden by those of the
     * registration.
     *
     * @throws InvalidOptionException if a key is unknown or a value not accepted
     */
    static AllocatorOptions of(EpFactory provider, Map<String, String> registration) {
        final String prefix = prefix(provider.name());
        final AllocatorOptions options = AllocatorOptions.of(without(prefix, environment()), "environment")
                .overriddenBy(AllocatorOptions.of(without(prefix, registration), "registration"));
        options.requireValid(provider.optionKeys());
        return options;
    }

    /** Rejects keys that are of none of the providers. */
    static void requireOwners(Map<String, String> registration, List<EpFactory> providers) {
        final List<String> prefixes = new ArrayList<>();
        providers.forEach(provider -> prefixes.add(prefix(provider.name())));
        registration.forEach((key, value) -> {
            if (prefixes.stream().noneMatch(key::startsWith)) {
                throw new InvalidOptionException(
                        key,
                        value,
                        "an option of a provider here: a key begins with one of " + prefixes,
                        "registration");
            }
        });
    }

    private static String prefix(String provider) {
        return PREFIX + provider + ".";
    }

    private static Map<String, String> without(String prefix, Map<String, String> entries) {
        final Map<String, String> own = new TreeMap<>();
        entries.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                own.put(key.substring(prefix.length()), value);
            }
        });
        return own;
    }

    /** The entries of ONNX Runtime's environment, which has some from 1.24 on. */
    private static Map<String, String> environment() {
        final EpApi api = EpApi.get();
        return api.has(EpFunction.GET_ENV_CONFIG_ENTRIES)
                ? api.ort().takePairs(api.get(EpFunction.GET_ENV_CONFIG_ENTRIES))
                : Map.of();
    }
}
