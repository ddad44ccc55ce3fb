package allocator.runtime.options;

import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.OptionKey;
import java.util.Map;

/** The runtime's own keys: those of a session and those of a run. */
public final class RuntimeKeys {
    /** See {@code SessionOptions.USE_ENV_ALLOCATORS}. */
    public static final OptionKey<Boolean> USE_ENV_ALLOCATORS = OptionKey.flag(
            "session.use_env_allocators", false, "1: use the environment's allocators where it has them");

    /** See {@code SessionOptions.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS}. */
    public static final OptionKey<Boolean> USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS = OptionKey.flag(
            "session.use_device_allocator_for_initializers", false, "1: initializers bypass the arena through reserve");

    /** See {@code SessionOptions.CALL_SITES}. */
    public static final OptionKey<Integer> CALL_SITES = OptionKey.count(
            "memory.call_sites", 0, "record where one block in so many was allocated; 1: every block, 0: none");

    /** See {@code RunOptions.DISABLE_SYNCHRONIZE}. */
    public static final OptionKey<Boolean> DISABLE_SYNCHRONIZE = OptionKey.flag(
            "disable_synchronize_execution_providers", false, "1: do not wait for the run's streams when it ends");

    /** See {@code RunOptions.SHRINK_KEY}. */
    public static final String SHRINK = "memory.enable_memory_arena_shrinkage";

    /** See {@code EnvironmentBuilder.HISTORY}. */
    public static final OptionKey<Integer> HISTORY = OptionKey.count(
            "memory.history", 0, AllocatorEvents.MOST_RECENT, "how many recent events a snapshot lists; 0: none");

    /** See {@code EnvironmentBuilder.JMX}. */
    public static final OptionKey<Boolean> JMX =
            OptionKey.flag("environment.jmx", false, "1: show each allocator as a bean of JMX");

    /** See {@code EnvironmentBuilder.LEAKS}: the call site of one block in so many is recorded, of none if it is 0. */
    public static final OptionKey<Integer> LEAKS = OptionKey.choice(
            "memory.leaks",
            0,
            Map.of("off", 0, "sampled", 100, "full", 1),
            "what is recorded to report the blocks that are live at a close: nothing, one block in 100, or each");

    /** See {@code EnvironmentBuilder.LEAKS_REPORT}. */
    public static final String LEAKS_REPORT = "memory.leaks_report";

    /** See {@code EnvironmentBuilder.SNAPSHOT_ON_FAILURE}. */
    public static final String SNAPSHOT_ON_FAILURE = "memory.snapshot_on_failure";

    private RuntimeKeys() {}
}
