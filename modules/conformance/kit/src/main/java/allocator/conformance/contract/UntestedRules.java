package allocator.conformance.contract;

import java.util.Map;
import java.util.TreeMap;

/** The rules that have no test, because no test can prove them from a provider's side. */
public final class UntestedRules {
    private static final Map<String, String> REASONS = Map.of(
            "T-02", "is a duty of the user; the kit's own programs keep it",
            "T-06", "is a duty of the user; the kit's own programs keep it",
            "T-09", "needs a stream that other code has created, which a kit for all devices does not have",
            "T-10", "needs the device's own calls, which begin and end a capture",
            "C-03", "is about time, which a test on a shared machine cannot judge; the benchmarks measure it");

    private UntestedRules() {}

    /** Returns all reasons by the ids of the rules. */
    public static Map<String, String> reasons() {
        return new TreeMap<>(REASONS);
    }
}
