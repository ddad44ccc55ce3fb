package allocator.conformance.program;

import java.util.Map;

/**
 * The result of running random programs on a memory.
 *
 * @param programs how many programs ran
 * @param failures the first failure of each broken rule, with its shortest program
 */
public record ProgramVerdict(int programs, Map<String, ProgramFailure> failures) {}
