/** The place where Arrow looks for its default allocation manager. */
package org.apache.arrow.memory.unsafe;
