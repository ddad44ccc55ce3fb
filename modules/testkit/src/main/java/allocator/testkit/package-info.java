/**
 * Test doubles for the tests of the other modules: a {@linkplain allocator.testkit.FakeFactory provider}, an
 * {@linkplain allocator.testkit.FakeAllocator allocator}, a {@linkplain allocator.testkit.FakeStream stream} and a
 * {@linkplain allocator.testkit.FakeDevice device} without memory behind them, and what tests of several modules
 * measure or require.
 *
 * <p>Not published, and without a module descriptor: tests use it in scope {@code test}, from the class path. It
 * depends on the SPI only, so every module but the SPI itself can use it.
 *
 * <p>The doubles keep the contract until a test makes them break it. A <em>hook</em> is called with the name of an
 * operation before that operation has any effect, unless its Javadoc says otherwise, and may throw. All doubles may be
 * used by any thread. The package is not null-marked, because a test may make a double return {@code null}.
 */
package allocator.testkit;
