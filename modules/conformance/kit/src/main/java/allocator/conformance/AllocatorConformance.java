package allocator.conformance;

import allocator.conformance.rules.LeakRules;
import allocator.conformance.rules.ProgramRules;
import allocator.conformance.rules.RegressionRules;
import allocator.conformance.rules.blocks.AllocationRules;
import allocator.conformance.rules.blocks.CounterRules;
import allocator.conformance.rules.blocks.ExhaustionRules;
import allocator.conformance.rules.blocks.FreeRules;
import allocator.conformance.rules.blocks.ReserveRules;
import allocator.conformance.rules.blocks.ShortageRules;
import allocator.conformance.rules.blocks.SizeRules;
import allocator.conformance.rules.blocks.StatisticsRules;
import allocator.conformance.rules.factories.DiscoveryRules;
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
import allocator.conformance.rules.streams.CopyRules;
import allocator.conformance.rules.streams.OneStreamRules;
import allocator.conformance.rules.streams.QueuedWorkRules;
import allocator.conformance.rules.streams.StreamLifetimeRules;
import allocator.conformance.rules.streams.StreamOrderRules;
import allocator.conformance.rules.streams.StreamStampRules;
import allocator.conformance.rules.streams.StreamWaitRules;
import allocator.conformance.rules.threads.ConcurrencyRules;
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
@ExtendWith({SelectedRules.class, SharedFixture.class})
public abstract class AllocatorConformance {
    private @Nullable ProviderFixture fixture;

    /** For subclasses. */
    protected AllocatorConformance() {}

    /**
     * {@return a new factory of the provider, as a service loader would return it} Called at least once for each test;
     * the kit closes every factory it gets.
     */
    protected abstract EpFactory factory();

    /**
     * {@return a probe of the device beneath a factory, see {@link DeviceProbe}; empty unless overridden}
     *
     * @param factory a factory that {@link #factory} returned
     */
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.empty();
    }

    /**
     * {@return the settings of these suites, the configured ones unless overridden} A provider with many suites runs
     * the secondary ones quick: {@code return configured.withQuick(true)}. Called for each test.
     *
     * @param configured the settings that the configuration parameters of JUnit give
     */
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured;
    }

    /** Returns what all chapters share. */
    ProviderFixture fixture() {
        if (fixture == null) {
            fixture = new ProviderFixture(this::factory, this::probe, this::settings);
        }
        return fixture;
    }

    @Nested
    @Order(1)
    @DisplayName("Discovery and memories")
    class Discovery extends DiscoveryRules {}

    @Nested
    @Order(2)
    @DisplayName("Lookups")
    class Lookups extends LookupRules {}

    @Nested
    @Order(3)
    @DisplayName("References and closing")
    class References extends ReferenceRules {}

    @Nested
    @Order(4)
    @DisplayName("Instances and factories")
    class Instances extends InstanceRules {}

    @Nested
    @Order(5)
    @DisplayName("Levels and lifetimes")
    class Lifetimes extends LifetimeRules {}

    @Nested
    @Order(6)
    @DisplayName("Options")
    class Options extends OptionRules {}

    @Nested
    @Order(7)
    @DisplayName("Settings in company")
    class Settings extends SettingRules {}

    @Nested
    @Order(8)
    @DisplayName("Regions of arenas")
    class Arenas extends ArenaRules {}

    @Nested
    @Order(9)
    @DisplayName("Allocating")
    class Allocations extends AllocationRules {}

    @Nested
    @Order(10)
    @DisplayName("Large blocks and limits")
    class Sizes extends SizeRules {}

    @Nested
    @Order(11)
    @DisplayName("Exhaustion and recovery")
    class Exhaustion extends ExhaustionRules {}

    @Nested
    @Order(12)
    @DisplayName("What a shortage says and counts")
    class ShortageCases extends ShortageRules {}

    @Nested
    @Order(13)
    @DisplayName("Invalid frees")
    class Frees extends FreeRules {}

    @Nested
    @Order(14)
    @DisplayName("Reserving")
    class Reserves extends ReserveRules {}

    @Nested
    @Order(15)
    @DisplayName("Statistics")
    class Statistics extends StatisticsRules {}

    @Nested
    @Order(16)
    @DisplayName("Counters")
    class Counters extends CounterRules {}

    @Nested
    @Order(17)
    @DisplayName("Shrinking")
    class Shrinks extends ShrinkRules {}

    @Nested
    @Order(18)
    @DisplayName("Memory that is used again")
    class Reuse extends ReuseRules {}

    @Nested
    @Order(19)
    @DisplayName("Order between streams")
    class StreamOrder extends StreamOrderRules {}

    @Nested
    @Order(20)
    @DisplayName("Events and blocks of streams")
    class StreamStamps extends StreamStampRules {}

    @Nested
    @Order(21)
    @DisplayName("Waits for streams")
    class StreamWaits extends StreamWaitRules {}

    @Nested
    @Order(22)
    @DisplayName("Queued work")
    class QueuedWork extends QueuedWorkRules {}

    @Nested
    @Order(23)
    @DisplayName("Streams, runs and closing")
    class StreamLifetimes extends StreamLifetimeRules {}

    @Nested
    @Order(24)
    @DisplayName("One stream")
    class OneStream extends OneStreamRules {}

    @Nested
    @Order(25)
    @DisplayName("Concurrency")
    class Concurrency extends ConcurrencyRules {}

    @Nested
    @Order(26)
    @DisplayName("Copying and the host's view")
    class Copies extends CopyRules {}

    @Nested
    @Order(27)
    @DisplayName("Memory of the process")
    class Returns extends ReturnRules {}

    @Nested
    @Order(28)
    @DisplayName("The end of a device")
    class Devices extends DeviceRules {}

    @Nested
    @Order(29)
    @DisplayName("Device failures")
    class Failures extends FailureRules {}

    @Nested
    @Order(30)
    @DisplayName("Refused memory")
    class Refused extends RefusalRules {}

    @Nested
    @Order(31)
    @DisplayName("Known faults of others")
    class Regressions extends RegressionRules {}

    @Nested
    @Order(32)
    @DisplayName("Random programs")
    class Programs extends ProgramRules {}

    @Nested
    @Order(33)
    @DisplayName("Leaks")
    class Leaks extends LeakRules {}
}
