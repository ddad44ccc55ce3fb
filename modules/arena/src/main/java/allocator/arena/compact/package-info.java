/**
 * The pages of one lane: which are mapped where, which are idle, and how a request gets those that it lacks.
 *
 * <p>{@link allocator.arena.compact.LanePages} is the entry. It depends on the chunks, the upstream memory and the
 * contract of pages, and knows of the lane only {@link allocator.arena.compact.PagedLane}. Not exported.
 */
package allocator.arena.compact;
