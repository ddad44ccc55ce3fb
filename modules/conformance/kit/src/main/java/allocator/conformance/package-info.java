/**
 * Suites that prove an allocator provider, and their runner.
 *
 * <p>Each test names the rule it proves: {@code required_A03_liveAllocationsDoNotOverlap} belongs to rule A-03 of
 * {@code docs/contract.md}. {@code required_} stands for what must hold, {@code optional_} for what should or may, and
 * {@code stochastic_} for what a wrong provider may survive by luck. What a provider cannot do by its types is skipped,
 * with the reason. Parameters and results are never {@code null}, unless marked.
 */
package allocator.conformance;
