/** What commands print: text for people, and JSON. */
package allocator.cli.text;
