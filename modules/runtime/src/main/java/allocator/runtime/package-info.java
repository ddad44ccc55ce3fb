/**
 * Environments, sessions and runs.
 *
 * <p>Conventions that hold for every type of this package, unless the type says otherwise:
 *
 * <ul>
 *   <li>Parameters, results and components are never {@code null}; exceptions are annotated. Passing {@code null}
 *       elsewhere throws {@link java.lang.NullPointerException} and changes nothing.
 *   <li>Sizes are bytes in a {@code long}. An address is a {@code long}; {@code 0} is the empty allocation.
 *   <li>Types are safe for use by several threads at once, platform and virtual alike.
 *   <li>A provider that breaks the contract causes an {@link allocator.runtime.ProviderException} that names it;
 *       exceptions of the contract are thrown on unchanged. An operation that is not possible now, because something is
 *       in use, throws a {@link allocator.runtime.StillInUseException} that lists the users. An operation that throws
 *       has changed nothing, unless it says otherwise.
 * </ul>
 */
package allocator.runtime;
