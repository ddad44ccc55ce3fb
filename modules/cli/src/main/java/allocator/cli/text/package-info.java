/** What a trace or a snapshot holds, as text for people and as JSON. */
package allocator.cli.text;
