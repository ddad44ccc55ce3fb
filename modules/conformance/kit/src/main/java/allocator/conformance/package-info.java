/**
 * Suites that prove that an allocator provider conforms to the contract.
 *
 * <p>Each test names the rule it proves: {@code required_A03_liveAllocationsDoNotOverlap} belongs to rule A-03 of
 * {@code docs/contract.md}. {@code required_} tests prove what must hold, {@code optional_} tests what should or may
 * hold; a wrong provider may pass a {@code stochastic_} test by chance. A test of a capability that the provider's
 * types do not offer is skipped, and the report gives the reason. Parameters and results are never {@code null}, unless
 * marked.
 */
package allocator.conformance;
