/** What a command writes: text for a terminal, and files that are whole or not there. For this project's commands. */
package allocator.conformance.runner.output;
