/** Pages in a browser, as a user has them. */
@NullMarked
package allocator.testkit.browser;

import org.jspecify.annotations.NullMarked;
