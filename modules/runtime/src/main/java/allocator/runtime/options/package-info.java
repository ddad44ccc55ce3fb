/**
 * Where options are given, and how their text is read: the runtime's own keys, the prefixes of a provider's keys, and
 * the list of arenas to shrink. Not exported.
 */
package allocator.runtime.options;
