package allocator.conformance;

import allocator.conformance.rules.LeakRules;
import allocator.conformance.rules.ProgramRules;
import allocator.conformance.rules.RegressionRules;
import allocator.conformance.rules.blocks.AllocationRules;
import allocator.conformance.rules.blocks.ContentRules;
import allocator.conformance.rules.blocks.CounterRules;
import allocator.conformance.rules.blocks.ExhaustionRules;
import allocator.conformance.rules.blocks.FreeRules;
import allocator.conformance.rules.blocks.LimitRules;
import allocator.conformance.rules.blocks.ReserveRules;
import allocator.conformance.rules.blocks.ShortageRules;
import allocator.conformance.rules.blocks.SizeRules;
import allocator.conformance.rules.blocks.StatisticsRules;
import allocator.conformance.rules.factories.DiscoveryRules;
import allocator.conformance.rules.factories.IdentityRules;
import allocator.conformance.rules.factories.InstanceRules;
import allocator.conformance.rules.factories.LifetimeRules;
import allocator.conformance.rules.factories.LookupRules;
import allocator.conformance.rules.factories.OptionRules;
import allocator.conformance.rules.factories.ReferenceRules;
import allocator.conformance.rules.factories.SettingRules;
import allocator.conformance.rules.failures.DeviceRules;
import allocator.conformance.rules.failures.FailureRules;
import allocator.conformance.rules.failures.RefusalRules;
import allocator.conformance.rules.regions.ArenaRules;
import allocator.conformance.rules.regions.ReturnRules;
import allocator.conformance.rules.regions.ReuseRules;
import allocator.conformance.rules.regions.ShrinkRules;
import allocator.conformance.rules.streams.CopyPatternRules;
import allocator.conformance.rules.streams.CopyRules;
import allocator.conformance.rules.streams.OneStreamRules;
import allocator.conformance.rules.streams.QueuedWorkRules;
import allocator.conformance.rules.streams.StreamLifetimeRules;
import allocator.conformance.rules.streams.StreamOrderRules;
import allocator.conformance.rules.streams.StreamStampRules;
import allocator.conformance.rules.streams.StreamWaitRules;
import allocator.conformance.rules.threads.CallPairRules;
import allocator.conformance.rules.threads.ConcurrencyRules;
import allocator.conformance.rules.threads.ContentionRules;
import allocator.conformance.subject.ProviderFixture;
import allocator.spi.EpFactory;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestClassOrder;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The conformance suites of one provider. A provider's test extends this class and supplies a factory:
 *
 * <pre>{@code
 * class BuddyConformanceTest extends AllocatorConformance {
 *     @Override
 *     protected EpFactory factory() {
 *         return new BuddyFactory();
 *     }
 * }
 * }</pre>
 *
 * <p>Each test runs once for each memory that the factory lists, with a factory of its own and on a thread of its own.
 * A test that exceeds its time limit fails; its thread is interrupted and abandoned. A test of a capability that the
 * provider's types do not offer is skipped, with the reason. {@link ConformanceSettings} lists the settings.
 *
 * <p>One class, since JUnit finds the chapters as nested classes.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
@ExtendWith(SelectedRules.class)
public abstract class AllocatorConformance {
    private @Nullable ProviderFixture fixture;

    /** For subclasses. */
    protected AllocatorConformance() {}

    /**
     * Returns a new factory of the provider, as a service loader would. Called at least once for each test; the kit
     * closes every factory it gets.
     *
     * @return a new factory
     */
    protected abstract EpFactory factory();

    /**
     * Returns a probe of the device beneath a factory; see {@link DeviceProbe}.
     *
     * @param factory a factory that {@link #factory} returned
     * @return the probe; empty unless overridden
     */
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.empty();
    }

    /**
     * Returns the settings of these suites, the configured ones unless overridden. A provider with many suites runs the
     * secondary ones quick: {@code return configured.withQuick(true)}. Called for each test.
     *
     * @param configured the settings that the configuration parameters of JUnit give
     * @return the settings
     */
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured;
    }

    private ProviderFixture fixture() {
        if (fixture == null) {
            fixture = new ProviderFixture(this::factory, this::probe, this::settings);
        }
        return fixture;
    }

    @Nested
    @Order(1)
    @DisplayName("Discovery and memories")
    class Discovery extends DiscoveryRules {
        Discovery() {
            super(fixture());
        }
    }

    @Nested
    @Order(2)
    @DisplayName("Lookups")
    class Lookups extends LookupRules {
        Lookups() {
            super(fixture());
        }
    }

    @Nested
    @Order(3)
    @DisplayName("References and closing")
    class References extends ReferenceRules {
        References() {
            super(fixture());
        }
    }

    @Nested
    @Order(4)
    @DisplayName("Instances and factories")
    class Instances extends InstanceRules {
        Instances() {
            super(fixture());
        }
    }

    @Nested
    @Order(5)
    @DisplayName("Levels and lifetimes")
    class Lifetimes extends LifetimeRules {
        Lifetimes() {
            super(fixture());
        }
    }

    @Nested
    @Order(6)
    @DisplayName("Identity over time")
    class Identities extends IdentityRules {
        Identities() {
            super(fixture());
        }
    }

    @Nested
    @Order(7)
    @DisplayName("Options")
    class Options extends OptionRules {
        Options() {
            super(fixture());
        }
    }

    @Nested
    @Order(8)
    @DisplayName("Settings in company")
    class Settings extends SettingRules {
        Settings() {
            super(fixture());
        }
    }

    @Nested
    @Order(9)
    @DisplayName("Regions of arenas")
    class Arenas extends ArenaRules {
        Arenas() {
            super(fixture());
        }
    }

    @Nested
    @Order(10)
    @DisplayName("Allocating")
    class Allocations extends AllocationRules {
        Allocations() {
            super(fixture());
        }
    }

    @Nested
    @Order(11)
    @DisplayName("Large blocks and limits")
    class Sizes extends SizeRules {
        Sizes() {
            super(fixture());
        }
    }

    @Nested
    @Order(12)
    @DisplayName("Contents")
    class ContentsOfBlocks extends ContentRules {
        ContentsOfBlocks() {
            super(fixture());
        }
    }

    @Nested
    @Order(13)
    @DisplayName("Exhaustion and recovery")
    class Exhaustion extends ExhaustionRules {
        Exhaustion() {
            super(fixture());
        }
    }

    @Nested
    @Order(14)
    @DisplayName("What a shortage says and counts")
    class ShortageCases extends ShortageRules {
        ShortageCases() {
            super(fixture());
        }
    }

    @Nested
    @Order(15)
    @DisplayName("At a limit")
    class Limits extends LimitRules {
        Limits() {
            super(fixture());
        }
    }

    @Nested
    @Order(16)
    @DisplayName("Invalid frees")
    class Frees extends FreeRules {
        Frees() {
            super(fixture());
        }
    }

    @Nested
    @Order(17)
    @DisplayName("Reserving")
    class Reserves extends ReserveRules {
        Reserves() {
            super(fixture());
        }
    }

    @Nested
    @Order(18)
    @DisplayName("Statistics")
    class Statistics extends StatisticsRules {
        Statistics() {
            super(fixture());
        }
    }

    @Nested
    @Order(19)
    @DisplayName("Counters")
    class Counters extends CounterRules {
        Counters() {
            super(fixture());
        }
    }

    @Nested
    @Order(20)
    @DisplayName("Shrinking")
    class Shrinks extends ShrinkRules {
        Shrinks() {
            super(fixture());
        }
    }

    @Nested
    @Order(21)
    @DisplayName("Memory that is used again")
    class Reuse extends ReuseRules {
        Reuse() {
            super(fixture());
        }
    }

    @Nested
    @Order(22)
    @DisplayName("Order between streams")
    class StreamOrder extends StreamOrderRules {
        StreamOrder() {
            super(fixture());
        }
    }

    @Nested
    @Order(23)
    @DisplayName("Events and blocks of streams")
    class StreamStamps extends StreamStampRules {
        StreamStamps() {
            super(fixture());
        }
    }

    @Nested
    @Order(24)
    @DisplayName("Waits for streams")
    class StreamWaits extends StreamWaitRules {
        StreamWaits() {
            super(fixture());
        }
    }

    @Nested
    @Order(25)
    @DisplayName("Queued work")
    class QueuedWork extends QueuedWorkRules {
        QueuedWork() {
            super(fixture());
        }
    }

    @Nested
    @Order(26)
    @DisplayName("Streams, runs and closing")
    class StreamLifetimes extends StreamLifetimeRules {
        StreamLifetimes() {
            super(fixture());
        }
    }

    @Nested
    @Order(27)
    @DisplayName("One stream")
    class OneStream extends OneStreamRules {
        OneStream() {
            super(fixture());
        }
    }

    @Nested
    @Order(28)
    @DisplayName("Concurrency")
    class Concurrency extends ConcurrencyRules {
        Concurrency() {
            super(fixture());
        }
    }

    @Nested
    @Order(29)
    @DisplayName("Contention")
    class Contention extends ContentionRules {
        Contention() {
            super(fixture());
        }
    }

    @Nested
    @Order(30)
    @DisplayName("Pairs of calls")
    class CallPairs extends CallPairRules {
        CallPairs() {
            super(fixture());
        }
    }

    @Nested
    @Order(31)
    @DisplayName("Copying and the host's view")
    class Copies extends CopyRules {
        Copies() {
            super(fixture());
        }
    }

    @Nested
    @Order(32)
    @DisplayName("Copies of every size")
    class CopyPatterns extends CopyPatternRules {
        CopyPatterns() {
            super(fixture());
        }
    }

    @Nested
    @Order(33)
    @DisplayName("Memory of the process")
    class Returns extends ReturnRules {
        Returns() {
            super(fixture());
        }
    }

    @Nested
    @Order(34)
    @DisplayName("The end of a device")
    class Devices extends DeviceRules {
        Devices() {
            super(fixture());
        }
    }

    @Nested
    @Order(35)
    @DisplayName("Device failures")
    class Failures extends FailureRules {
        Failures() {
            super(fixture());
        }
    }

    @Nested
    @Order(36)
    @DisplayName("Refused memory")
    class Refused extends RefusalRules {
        Refused() {
            super(fixture());
        }
    }

    @Nested
    @Order(37)
    @DisplayName("Known faults of others")
    class Regressions extends RegressionRules {
        Regressions() {
            super(fixture());
        }
    }

    @Nested
    @Order(38)
    @DisplayName("Random programs")
    class Programs extends ProgramRules {
        Programs() {
            super(fixture());
        }
    }

    @Nested
    @Order(39)
    @DisplayName("Leaks")
    class Leaks extends LeakRules {
        Leaks() {
            super(fixture());
        }
    }
}
