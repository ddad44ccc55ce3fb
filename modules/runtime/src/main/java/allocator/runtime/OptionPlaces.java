package allocator.runtime;

import allocator.spi.InvalidOptionException;
import java.util.Collection;

/** Tells a key that stands in the wrong place from one that nobody knows. */
final class OptionPlaces {
    private OptionPlaces() {}

    /** The exception for a key that is not understood where it was given. */
    static InvalidOptionException unknown(String key, String value, String origin, Collection<String> known) {
        if (RunOptions.KEYS.contains(key)) {
            return misplaced(key, value, origin, "of one run: set it in RunOptions, for each run that it is meant for");
        }
        if (SessionOptions.KEYS.contains(key) || key.startsWith("ep.")) {
            return misplaced(key, value, origin, "of a session: set it in SessionOptions");
        }
        if (key.startsWith("ep_factory.")) {
            return misplaced(key, value, origin, "of an environment: set it with Environment.builder().option");
        }
        return InvalidOptionException.unknownKey(key, value, origin, known);
    }

    private static InvalidOptionException misplaced(String key, String value, String origin, String belongs) {
        return new InvalidOptionException(key, value, "accepted here; it is an option " + belongs, origin);
    }
}
