/** Makes a static site of the documents of a checkout, and of the Javadoc of the modules that it publishes. */
@NullMarked
package allocator.site;

import org.jspecify.annotations.NullMarked;
