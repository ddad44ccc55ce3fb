/**
 * Two commits measured in turn: what {@code bench/compare} and {@code bench/side} start.
 *
 * <p>Each commit is built as a whole and measures itself, with its own benchmark, behind its own {@code bench/side}.
 * The comparing program, {@link allocator.bench.compare.Compare}, starts that script and reads what it prints
 * ({@code SideProtocol}). No class is shared between the two commits, so a comparison works across a change that moves
 * modules, packages or the benchmark itself.
 */
@NullMarked
package allocator.bench.compare;

import org.jspecify.annotations.NullMarked;
