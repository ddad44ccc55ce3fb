/** What traces, snapshots and plans hold, as text for people and as JSON. */
package allocator.cli.text;
