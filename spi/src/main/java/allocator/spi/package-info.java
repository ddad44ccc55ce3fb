/**
 * The contract of the allocator plug-in system.
 *
 * <p>Conventions that hold for every type of this package, unless the type says otherwise:
 *
 * <ul>
 *   <li>Parameters, results and components are never {@code null}; exceptions are annotated. Passing {@code null}
 *       elsewhere throws {@link java.lang.NullPointerException} and changes nothing.
 *   <li>Sizes are bytes in a {@code long}. An address is a {@code long}; {@code 0} is the empty allocation.
 *   <li>Types are safe for use by several threads at once, platform and virtual alike.
 *   <li>Every failure is an exception: exhaustion is {@link allocator.spi.OutOfMemoryException}, any other failure that
 *       this contract defines is another {@link allocator.spi.AllocatorException}. After any exception every live block
 *       is still valid and the object still works.
 * </ul>
 */
package allocator.spi;
