/** What commands print with: the terminal, tables, sizes and JSON. A leaf: it uses no other package of the module. */
package allocator.cli.output;
