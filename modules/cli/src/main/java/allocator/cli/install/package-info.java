/** What an installed command has beside it: completion of shells, and the manual page. */
package allocator.cli.install;
