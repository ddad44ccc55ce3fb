/**
 * The {@code allocator} command: {@link allocator.cli.Main} parses the arguments; sub-commands replay traces and list
 * providers.
 *
 * <p>Exit codes: 0 success, 1 the command failed, 2 wrong usage, 3 nothing was tested, 4 most allocations of a replay
 * failed. Results go to standard output; errors are one line on standard error.
 */
package allocator.cli;
