package allocator.runtime.options;

import allocator.spi.InvalidOptionException;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/**
 * Which of several providers of a device comes first: those that the option names, in its order; then those of a higher
 * priority; then by name.
 *
 * @param named the names that the option {@link #KEY} lists, in its order
 */
public record ProviderOrder(List<String> named) {
    /** The option of an environment. */
    public static final String KEY = "environment.provider_order";

    /** The order without the option. */
    public static final ProviderOrder DEFAULT = new ProviderOrder(List.of());

    /** Copies the list. */
    public ProviderOrder {
        named = List.copyOf(named);
    }

    /**
     * Parses the option.
     *
     * @param list names of providers, in their exact case, separated by commas
     * @throws InvalidOptionException if the list is not of that form, or names a provider twice
     */
    public static ProviderOrder parse(String list) {
        final List<String> names = List.of(list.split(",", -1));
        final Set<String> seen = new HashSet<>();
        for (final String name : names) {
            if (name.isEmpty() || name.chars().anyMatch(Character::isWhitespace) || !seen.add(name)) {
                throw new InvalidOptionException(
                        KEY,
                        list,
                        "a list of different names of providers, separated by commas and without blanks",
                        OptionPlace.ENVIRONMENT.origin());
            }
        }
        return new ProviderOrder(names);
    }

    /**
     * {@return the comparator of providers, which sorts the provider that comes first to the front}
     *
     * @param <P> what stands for a provider
     */
    public <P> Comparator<P> comparing(Function<P, String> name, ToIntFunction<P> priority) {
        return Comparator.comparingInt((P provider) -> place(name.apply(provider)))
                .thenComparing(Comparator.comparingInt(priority).reversed())
                .thenComparing(name);
    }

    private int place(String name) {
        final int place = named.indexOf(name);
        return place < 0 ? named.size() : place;
    }

    /** Says why one provider comes before another. */
    public String why(String winner, int winnerPriority, String other, int otherPriority) {
        if (place(winner) != place(other)) {
            return place(winner) < place(other) ? "it comes first in " + KEY : "it was registered before";
        }
        if (winnerPriority != otherPriority) {
            return winnerPriority > otherPriority
                    ? "its priority is " + winnerPriority + ", that of " + other + " is " + otherPriority
                    : "it was registered before";
        }
        return winner.compareTo(other) < 0 ? "its name comes first" : "it was registered before";
    }
}
