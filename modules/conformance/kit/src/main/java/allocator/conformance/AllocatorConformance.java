package allocator.conformance;

import allocator.spi.EpFactory;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestClassOrder;
import org.junit.jupiter.api.TestInstance;

/**
 * Proves a provider: extend this class, and say how to make a factory.
 *
 * <p>{@snippet : class BuddyConformanceTest extends AllocatorConformance { @Override protected EpFactory factory() {
 * return new BuddyFactory(); } } }
 *
 * <p>Each test runs once for each memory that the factory lists, on a factory of its own and on a thread that is left
 * behind when it hangs. What the provider's types do not offer is skipped, with the reason. The settings are those of
 * {@link ConformanceSettings}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
public abstract class AllocatorConformance {
    private @Nullable Kit kit;

    /** For subclasses. */
    protected AllocatorConformance() {}

    /**
     * Makes a factory of the provider, as a service loader does. Called once for each test; the kit closes what it
     * gets.
     *
     * @return a new factory
     */
    protected abstract EpFactory factory();

    /**
     * A view of the device beneath a factory, for vendors who have one; see {@link DeviceProbe}.
     *
     * @param factory what {@link #factory} returned
     * @return the probe; empty unless overridden
     */
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.empty();
    }

    private Kit common() {
        if (kit == null) {
            kit = new Kit(this::factory, this::probe);
        }
        return kit;
    }

    @Nested
    @Order(1)
    @DisplayName("Factories, levels and lifetimes")
    class Factories extends FactoryRules {
        Factories() {
            super(common());
        }
    }

    @Nested
    @Order(2)
    @DisplayName("Options")
    class Options extends OptionRules {
        Options() {
            super(common());
        }
    }

    @Nested
    @Order(3)
    @DisplayName("Regions of arenas")
    class Arenas extends ArenaRules {
        Arenas() {
            super(common());
        }
    }

    @Nested
    @Order(4)
    @DisplayName("Allocating and freeing")
    class Allocations extends AllocationRules {
        Allocations() {
            super(common());
        }
    }

    @Nested
    @Order(5)
    @DisplayName("Reserving")
    class Reserves extends ReserveRules {
        Reserves() {
            super(common());
        }
    }

    @Nested
    @Order(6)
    @DisplayName("Statistics")
    class Statistics extends StatisticsRules {
        Statistics() {
            super(common());
        }
    }

    @Nested
    @Order(7)
    @DisplayName("Shrinking")
    class Shrinks extends ShrinkRules {
        Shrinks() {
            super(common());
        }
    }

    @Nested
    @Order(8)
    @DisplayName("Streams")
    class Streams extends StreamRules {
        Streams() {
            super(common());
        }
    }

    @Nested
    @Order(9)
    @DisplayName("Concurrency")
    class Concurrency extends ConcurrencyRules {
        Concurrency() {
            super(common());
        }
    }

    @Nested
    @Order(10)
    @DisplayName("Copying and the host's view")
    class Copies extends CopyRules {
        Copies() {
            super(common());
        }
    }

    @Nested
    @Order(11)
    @DisplayName("Device failures")
    class Failures extends FailureRules {
        Failures() {
            super(common());
        }
    }

    @Nested
    @Order(12)
    @DisplayName("Known faults of others")
    class Regressions extends RegressionRules {
        Regressions() {
            super(common());
        }
    }

    @Nested
    @Order(13)
    @DisplayName("Random programs")
    class Programs extends ProgramRules {
        Programs() {
            super(common());
        }
    }

    @Nested
    @Order(14)
    @DisplayName("What is left behind")
    class Leaks extends LeakRules {
        Leaks() {
            super(common());
        }
    }
}
