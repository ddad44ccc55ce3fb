/** What programs share that write results: pages, pictures, medians, and the machine that measured. */
@NullMarked
package allocator.bench.report;

import org.jspecify.annotations.NullMarked;
