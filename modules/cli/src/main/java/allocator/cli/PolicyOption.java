package allocator.cli;

import allocator.runtime.Environment;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The option {@value #NAME}: values of {@value #KEY} that are replayed one beside the other. */
final class PolicyOption {
    static final String NAME = "--policies";
    static final String KEY = "arena.policy";

    /** The policies that are compared by default. */
    static final List<String> USUAL = List.of("best-fit", "compact");

    static final String USUAL_ORIGIN = "replay";

    private PolicyOption() {}

    /** Reads the values, which commas separate, beside the settings of {@code --option}. */
    static List<String> parse(String text, AllocatorOptions given) {
        final List<String> policies =
                Arrays.stream(text.split(",", -1)).map(String::strip).toList();
        final Set<String> seen = new HashSet<>();
        for (final String policy : policies) {
            if (policy.isEmpty()) {
                throw new UsageException(NAME + " " + text + ": a name is empty");
            }
            if (!seen.add(policy)) {
                throw new UsageException(NAME + " " + text + ": " + policy + " is named twice");
            }
        }
        if (given.keys().contains(KEY)) {
            throw new UsageException(NAME + " and --option " + KEY + " cannot be given together");
        }
        return policies;
    }

    /** Returns the settings with each policy in turn, checked against the keys of a provider. */
    static List<AllocatorOptions> settings(
            List<String> policies, String origin, AllocatorOptions given, Environment environment, String provider) {
        final Collection<OptionKey<?>> keys = environment.optionKeys(provider);
        if (keys.stream().noneMatch(key -> key.name().equals(KEY))) {
            throw new UsageException(NAME + ": " + provider + " has no option " + KEY);
        }
        return policies.stream()
                .map(policy -> checked(given.with(KEY, policy, origin), keys))
                .toList();
    }

    private static AllocatorOptions checked(AllocatorOptions settings, Collection<OptionKey<?>> keys) {
        try {
            settings.requireValid(keys);
            return settings;
        } catch (InvalidOptionException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    /** Returns whether a provider has all the policies that are compared by default. */
    static boolean hasUsual(Environment environment, String provider) {
        try {
            settings(USUAL, USUAL_ORIGIN, AllocatorOptions.EMPTY, environment, provider);
            return true;
        } catch (UsageException _) {
            return false;
        }
    }
}
