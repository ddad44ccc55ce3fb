/** What commands print: as text, and as JSON. */
package allocator.cli.report;
