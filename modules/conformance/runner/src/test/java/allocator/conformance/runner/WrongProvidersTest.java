package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.contract.TestName;
import allocator.conformance.contract.UntestedRules;
import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.simple.Fault;
import allocator.conformance.runner.simple.SimpleFactory;
import allocator.spi.EpFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each wrong provider fails on its own rule, with a message that names the fault; the correct provider passes. With the
 * profile {@code exam}, all tests of the rule's chapter run on it: they blame none but the rules that it breaks.
 */
class WrongProvidersTest {
    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofSeconds(60));
    private static final ConformanceSettings IMPATIENT = new ConformanceSettings(1, true, Duration.ofSeconds(2));

    private static final Set<Fault> HANGING =
            Set.of(Fault.DEADLOCK_OF_ALLOC_AND_STATS, Fault.HANGS_WHEN_IMPOSSIBLE, Fault.VIRTUAL_THREADS_STARVE);

    /** Runs some rules on a wrong provider; on one that hangs, its own rule only. */
    private static ConformanceReport prove(Fault fault, String rules) {
        return HANGING.contains(fault)
                ? ConformanceRunnerTest.report(fault, IMPATIENT, fault.own())
                : ConformanceRunnerTest.report(fault, QUICK, rules);
    }

    private static Set<String> failedRules(ConformanceReport report) {
        return report.rules().stream()
                .filter(rule -> rule.status() == Status.FAILED)
                .map(RuleResult::id)
                .collect(Collectors.toSet());
    }

    /** Random tests are left out: what they find by chance does not show whether the kit blames the right rule. */
    private static Set<String> requiredRulesThatFailed(ConformanceReport report) {
        return report.tests().stream()
                .filter(test -> test.status() == Status.FAILED && test.name().startsWith("required_"))
                .map(test -> TestName.of(test.name()).orElseThrow().rule())
                .collect(Collectors.toSet());
    }

    /** One of each family of rules. */
    @ParameterizedTest
    @EnumSource(
            names = {
                "TWO_INFOS_FOR_ONE_LOCATION",
                "RELEASE_HIDES_WHAT_THE_DEVICE_KEPT",
                "REGION_SIZE_IGNORED",
                "OVERLAP_AFTER_COALESCE",
                "SHORTAGE_NUMBERS_LIE",
                "FREE_THROWS_WHAT_THE_DEVICE_THROWS",
                "REFUSED_MEMORY_IS_HANDED_OUT",
                "RESERVE_PASSES_THE_LIMIT",
                "PADDING_COUNTED_AS_REQUESTED",
                "SHRINK_REPORTS_REFUSED_MEMORY",
                "STAMP_WHEN_TAKEN",
                "NOT_THREAD_SAFE",
                "CLOSED_ALLOCATOR_WORKS",
                "COPY_TRUNCATES",
                "SEGMENT_OF_ROUNDED_SIZE"
            })
    void aWrongProviderOfEachFamilyFailsOnItsOwnRule(Fault fault) {
        requireOwnRuleFails(fault, prove(fault, fault.own()));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    @Tag("thorough")
    void everyWrongProviderFailsOnItsOwnRule(Fault fault) {
        requireOwnRuleFails(fault, prove(fault, fault.own()));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    @Tag("whole-exam")
    void noOtherRuleOfItsChapterIsBlamed(Fault fault) {
        requireOwnRuleFails(fault, prove(fault, fault.own().charAt(0) + "-*"));
    }

    private static void requireOwnRuleFails(Fault fault, ConformanceReport report) {
        final List<String> failures = report.tests().stream()
                .filter(test -> test.status() == Status.FAILED)
                .map(test -> test.name() + ": " + test.summary())
                .toList();
        assertThat(failedRules(report)).as("%s", failures).contains(fault.own());
        assertThat(requiredRulesThatFailed(report)).as("%s", failures).isSubsetOf(fault.rules());
        assertThat(report.passed()).isFalse();
        assertThat(report.tests())
                .filteredOn(test -> test.status() == Status.FAILED)
                .filteredOn(
                        test -> TestName.of(test.name()).orElseThrow().rule().equals(fault.own()))
                .extracting(TestResult::message)
                .as("a message that names the fault")
                .anySatisfy(message -> assertThat(message).contains(fault.message()));
    }

    /** Proves a provider that gives memory to streams that did not wait, as a driver's pool does. */
    private static ConformanceReport proveStreams(boolean isOrderedByDevice, boolean hasProbe) {
        return proveStreams(
                () -> new SimpleFactory(Fault.REUSE_BEFORE_THE_STREAM_IS_DONE, isOrderedByDevice, Integer.MAX_VALUE),
                hasProbe);
    }

    private static ConformanceReport proveStreams(Supplier<EpFactory> factory, boolean hasProbe) {
        return new ConformanceRunner(factory, QUICK, "T-*")
                .run(
                        new ProviderRun.Provider(
                                factory,
                                made -> hasProbe ? Optional.of(((SimpleFactory) made).device()) : Optional.empty()),
                        _ -> {});
    }

    @Test
    void withoutAProbeMemoryOrderedByTheDeviceIsNotBlamed() {
        assertThat(failedRules(proveStreams(false, false))).containsExactly("T-03");
        final ConformanceReport report = proveStreams(true, false);
        assertThat(failedRules(report)).isEmpty();
        assertThat(report.tests())
                .filteredOn(test -> test.name().startsWith("required_T03_"))
                .extracting(TestResult::summary)
                .anySatisfy(summary -> assertThat(summary).contains("the device orders this memory"));
    }

    @Test
    void withAProbeThatLetsStreamsLagMemoryOrderedByTheDeviceIsBlamed() {
        assertThat(failedRules(proveStreams(true, true))).containsExactly("T-03");
    }

    @Test
    void aDeviceOfOneStreamIsNotBlamed() {
        requireNotBlamed(1);
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(ints = {2, 3, 5})
    void aDeviceOfFewStreamsIsNotBlamed(int mostStreams) {
        requireNotBlamed(mostStreams);
    }

    private static void requireNotBlamed(int mostStreams) {
        final ConformanceReport report = proveStreams(() -> new SimpleFactory(Fault.NONE, false, mostStreams), true);
        assertThat(failedRules(report)).isEmpty();
        assertThat(report.tests())
                .filteredOn(test -> test.name().equals("required_T07_aClosedStreamMakesRoomForAnother")
                        || test.name().equals("required_T05_closingWaitsForTheWork"))
                .extracting(TestResult::status)
                .contains(Status.PASSED)
                .doesNotContain(Status.FAILED);
    }

    @ParameterizedTest
    @Tag("thorough")
    @EnumSource(mode = EnumSource.Mode.INCLUDE, names = "NONE")
    void theCorrectProviderBreaksNoRule(Fault fault) {
        final ConformanceReport report = prove(fault, "*");
        assertThat(failedRules(report)).isEmpty();
        assertThat(report.rules())
                .filteredOn(rule -> rule.status() == Status.UNTESTED)
                .extracting(RuleResult::id)
                .containsExactlyInAnyOrderElementsOf(UntestedRules.reasons().keySet());
        assertThat(report.tests())
                .as("A-07 is proved, not skipped")
                .filteredOn(test -> test.name().startsWith("required_A07_"))
                .allMatch(test -> test.status() == Status.PASSED);
        assertThat(report.rules())
                .as("the simple provider has every capability, so no rule is skipped")
                .noneMatch(rule -> rule.status() == Status.SKIPPED);
    }

    /** A provider that loses all memory, and becomes so slow that the time of a test ends in its second attempt. */
    @Test
    @Tag("thorough")
    @EnabledOnOs(OS.LINUX)
    void growthThatWasSeenIsAFailureAlsoWhereTheTimeEnds() {
        final String test = "required_F04_releasedMemoryLeavesTheProcess";
        final ConformanceSettings settings = new ConformanceSettings(1, true, Duration.ofSeconds(6));
        final ConformanceReport report = new ConformanceRunner(() -> slow(test, 30), settings, "F-04").run(_ -> {});
        assertThat(report.tests())
                .filteredOn(result -> result.name().equals(test))
                .isNotEmpty()
                .allSatisfy(result -> assertThat(result.message())
                        .contains("times with 41943040 bytes each: the process grew by", "bytes in all"))
                .allMatch(result -> result.status() == Status.FAILED);
    }

    private static EpFactory slow(String test, int creates) {
        final SimpleFactory factory = new SimpleFactory(Fault.RELEASE_RETURNS_NOTHING);
        final AtomicInteger made = new AtomicInteger();
        return (EpFactory) Proxy.newProxyInstance(
                EpFactory.class.getClassLoader(), new Class<?>[] {EpFactory.class}, (_, method, arguments) -> {
                    if (method.getName().equals("createAllocator")
                            && Thread.currentThread().getName().equals(test)
                            && made.incrementAndGet() > creates) {
                        Thread.sleep(250);
                    }
                    try {
                        return method.invoke(factory, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
