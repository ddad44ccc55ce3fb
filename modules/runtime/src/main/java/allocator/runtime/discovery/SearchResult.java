package allocator.runtime.discovery;

import java.util.List;

/**
 * The result of a search.
 *
 * @param searched the places that were searched, in order; empty if none was
 * @param factories the factories that were constructed
 * @param skipped the providers that were not loaded, and why
 */
public record SearchResult(List<String> searched, List<LoadedFactory> factories, List<SkippedProvider> skipped) {}
