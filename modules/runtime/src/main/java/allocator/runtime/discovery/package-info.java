/**
 * The search for providers: on the module path, on the class path and in directories of jars. Ends where a factory has
 * been constructed; registering it is the work of {@link allocator.runtime}. Not exported.
 */
package allocator.runtime.discovery;
