/**
 * The contract of page sources, as test suites: {@link allocator.testkit.pages.PageSourceContract} for all of them, and
 * {@link allocator.testkit.pages.PageSourceFaultsContract} for those whose device or system can be made to fail.
 *
 * <p>The arena's own tests use this module, so it cannot depend on the arena: {@link allocator.testkit.pages.PageCalls}
 * stands for the interface there.
 */
package allocator.testkit.pages;
