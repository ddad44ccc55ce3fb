/**
 * Runs the conformance suites on a provider without a test of its own, as a command or from code.
 *
 * <p>Parameters and results are never {@code null}, unless marked.
 */
package allocator.conformance.runner;
