package allocator.cli;

import allocator.trace.ReplayResult;

/**
 * The result of a replay with a policy.
 *
 * @param policy the value of {@code arena.policy} that was asked for; empty if none was
 * @param result the result
 */
record PolicyResult(String policy, ReplayResult result) {}
