/** What programs share that write a page of results. */
@NullMarked
package allocator.bench.page;

import org.jspecify.annotations.NullMarked;
