/**
 * The tables of one lane's pages: which are mapped where, which are idle, and which streams may still use them.
 *
 * <p>{@link allocator.arena.compact.PageTable} is the entry. Pure bookkeeping, which depends on the chunks alone and
 * calls no device; the lane's lock guards it. Not exported.
 */
package allocator.arena.compact;
