/**
 * Environments, sessions and runs.
 *
 * <p>Conventions that hold for every type of this package, unless the type says otherwise:
 *
 * <ul>
 *   <li>Parameters, results and components are never {@code null}; what may be {@code null} is marked so. Passing
 *       {@code null} elsewhere throws {@link java.lang.NullPointerException} and changes nothing.
 *   <li>Sizes are bytes in a {@code long}. An address is a {@code long}; {@code 0} is the empty allocation.
 *   <li>Types are safe for use by several threads at once, platform and virtual alike.
 *   <li>What a provider does wrong is an {@link allocator.runtime.ProviderException} that names the provider; the
 *       exceptions of the contract come through as the provider threw them. What an application may not do now, because
 *       something is in use, is a {@link allocator.runtime.StillInUseException} that lists what. An operation that
 *       throws has changed nothing, unless it says otherwise.
 * </ul>
 */
package allocator.runtime;
