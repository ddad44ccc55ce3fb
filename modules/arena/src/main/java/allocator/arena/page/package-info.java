/**
 * The contract of pages, for providers: memory of a device without an address, which an arena maps where it is needed.
 *
 * <p>A <em>page</em> is physical memory of a fixed size. It is mapped at one or several addresses, and used through one
 * of them at a time. So a large request is served by the free pages between live chunks, wherever they are: they are
 * mapped a second time, side by side.
 *
 * <p>The null policy and the conventions of {@code allocator.spi} apply.
 */
package allocator.arena.page;
