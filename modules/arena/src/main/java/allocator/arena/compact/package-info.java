/**
 * An arena that holds little more than what lives: chunks in one range of addresses, of which only the parts in use are
 * backed by pages of physical memory.
 *
 * <p>A <em>page</em> is physical memory without an address, of a fixed size. It is mapped at one or several addresses,
 * and used through one of them at a time. So a large request is served by the free pages between live chunks, wherever
 * they are: they are mapped a second time, side by side.
 *
 * <p>The null policy and the conventions of {@code allocator.spi} apply.
 */
package allocator.arena.compact;
