/** Where an installed command has the providers of its users. */
package allocator.cli.providers;
