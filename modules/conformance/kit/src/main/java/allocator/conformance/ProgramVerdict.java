package allocator.conformance;

import java.util.Map;

/**
 * What random programs found on a memory.
 *
 * @param programs how many ran
 * @param failures for each broken rule, the first failure, cut to the shortest program
 */
record ProgramVerdict(int programs, Map<String, ProgramFailure> failures) {}
