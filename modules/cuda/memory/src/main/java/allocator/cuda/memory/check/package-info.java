/** The checks of {@code arena.check_streams}: which uses of memory on streams are ordered after which. */
package allocator.cuda.memory.check;
