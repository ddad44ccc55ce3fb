/**
 * The {@code allocator} command: {@link allocator.cli.Main} reads the arguments, finds providers, and replays traces or
 * lists what was found.
 *
 * <p>Exit codes: 0 success, 1 the work failed, 2 wrong usage. Results go to standard output; errors are one line on
 * standard error.
 */
package allocator.cli;
