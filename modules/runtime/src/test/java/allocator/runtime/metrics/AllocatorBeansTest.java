package allocator.runtime.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidOptionException;
import allocator.testkit.FakeFactory;
import allocator.testkit.Faults;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Beans of JMX, and the observation beneath them. */
class AllocatorBeansTest {
    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    private static Set<ObjectName> beans() throws Exception {
        return SERVER.queryNames(new ObjectName("java.allocator:*"), null);
    }

    private static Environment open(String jmx) {
        return Environment.builder()
                .modulePathProviders(false)
                .option(EnvironmentBuilder.JMX, jmx)
                .build();
    }

    private static SessionOptions.Builder session(String name) {
        return SessionOptions.builder().name(name);
    }

    @AfterEach
    void noneIsLeft() throws Exception {
        assertThat(beans()).isEmpty();
    }

    @Test
    void anEnvironmentHasNoneUnlessItIsAsked() throws Exception {
        try (Environment environment = open("0")) {
            environment.register(FakeFactory.cpu("plain"));
            assertThat(beans()).isEmpty();
        }
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> Environment.builder().option(EnvironmentBuilder.JMX, "yes"))
                .withMessageContaining("environment.jmx");
    }

    @Test
    void eachInstanceHasABeanWhileItIsInUse() throws Exception {
        try (Environment environment = open("1")) {
            environment.register(FakeFactory.cpu("plain"));
            final int shared = beans().size();
            assertThat(shared).isPositive();
            final Session session = environment.openSession(session("bert").build());
            final long address = session.allocator().alloc(1000);
            final int open = beans().size();
            assertThat(open).isGreaterThanOrEqualTo(shared);
            final AllocatorMXBean bean = beans().stream()
                    .map(name -> JMX.newMXBeanProxy(SERVER, name, AllocatorMXBean.class))
                    .filter(each -> List.of(each.getUsers()).contains("bert") && each.getLiveBlocks() == 1)
                    .findFirst()
                    .orElseThrow();
            assertThat(bean.getProvider()).isEqualTo("plain");
            assertThat(bean.getDevice())
                    .isEqualTo(session.allocator().info().location().toString());
            assertThat(bean.getBytesInUse()).isGreaterThanOrEqualTo(1000);
            assertThat(bean.getSharedBytes() + bean.getAsleepBytes()).isZero();
            session.close();
            assertThat(beans()).as("a block is live").hasSize(open);
            session.allocator().free(address);
            assertThat(beans()).hasSize(shared);
        }
    }

    @Test
    void twoEnvironmentsDoNotClash() throws Exception {
        try (Environment first = open("1");
                Environment second = open("1")) {
            first.register(FakeFactory.cpu("same"));
            final int one = beans().size();
            second.register(FakeFactory.cpu("same"));
            assertThat(beans()).hasSize(2 * one);
        }
    }

    @Test
    void hostileNamesAreQuoted() throws Exception {
        try (Environment environment = open("1")) {
            environment.register(FakeFactory.cpu("a,type=\"*?,b=c"));
            assertThat(beans()).isNotEmpty().allSatisfy(name -> {
                assertThat(name.isPattern()).isFalse();
                assertThat(name.getKeyPropertyList().keySet())
                        .containsExactlyInAnyOrder("type", "environment", "number", "provider", "memory", "device");
                assertThat(ObjectName.unquote(name.getKeyProperty("provider"))).isEqualTo("a,type=\"*?,b=c");
            });
        }
    }

    private static WeakReference<Environment> lostEnvironment() {
        final Environment environment = open("1");
        environment.register(FakeFactory.cpu("lost"));
        return new WeakReference<>(environment);
    }

    /** The bean server is a root: beans that hold their allocators would hold a lost environment for good. */
    @Test
    @Timeout(60)
    void anEnvironmentThatIsNeverClosedIsCollectedWithItsBeans() throws Exception {
        final WeakReference<Environment> lost = lostEnvironment();
        assertThat(beans()).isNotEmpty();
        while (lost.get() != null || !beans().isEmpty()) {
            System.gc();
            Thread.sleep(10);
        }
    }

    @Nested
    class AnObservation {
        private final List<String> calls = new ArrayList<>();
        private final List<ObservedAllocator> seen = new ArrayList<>();

        private final AllocatorListener listener = new AllocatorListener() {
            @Override
            public void added(ObservedAllocator allocator) {
                calls.add("added " + allocator.number());
                seen.add(allocator);
                throw new IllegalArgumentException("a listener may throw");
            }

            @Override
            public void removed(ObservedAllocator allocator) {
                calls.add("removed " + allocator.number());
            }
        };

        @Test
        void beginsWithWhatIsThereAndEndsWithIt() {
            try (Environment environment = open("0")) {
                environment.register(FakeFactory.cpu("plain"));
                final Observation observation = environment.observe(listener);
                final List<String> added = List.copyOf(calls);
                assertThat(added).isNotEmpty().allMatch(call -> call.startsWith("added "));
                observation.close();
                observation.close();
                assertThat(calls).hasSize(2 * added.size());
                calls.clear();
                environment.openSession(session("later").build()).close();
                assertThat(calls).isEmpty();
            }
            assertThat(seen).allSatisfy(gone -> {
                assertThat(gone.users()).isEmpty();
                assertThat(gone.stats()).isEqualTo(AllocatorStats.NONE);
            });
        }

        @Test
        void ofAListenerThatFailsCostsOthersNothing() {
            final AllocatorListener failing = new AllocatorListener() {
                @Override
                public void added(ObservedAllocator allocator) {
                    throw new AssertionError("added");
                }

                @Override
                public void removed(ObservedAllocator allocator) {
                    throw new AssertionError("removed");
                }
            };
            try (Environment environment = open("0")) {
                environment.register(FakeFactory.cpu("plain"));
                environment.observe(failing);
                environment.observe(listener);
                final int before = seen.size();
                environment.openSession(session("later").build()).close();
                assertThat(calls).hasSizeGreaterThanOrEqualTo(before);
                environment.register(FakeFactory.cpu("second"));
                environment.openSession(session("both").build()).close();
            }
            assertThat(calls.stream().filter(call -> call.startsWith("removed")))
                    .hasSameSizeAs(seen);
        }

        @Test
        void mayEndItselfWhileItIsCalled() {
            final List<Observation> own = new ArrayList<>();
            try (Environment environment = open("0")) {
                own.add(environment.observe(new AllocatorListener() {
                    @Override
                    public void added(ObservedAllocator allocator) {
                        own.forEach(Observation::close);
                    }

                    @Override
                    public void removed(ObservedAllocator allocator) {}
                }));
                environment.observe(listener);
                environment.register(FakeFactory.cpu("plain"));
                environment.openSession(session("later").build()).close();
                assertThat(seen).isNotEmpty();
            }
            assertThat(calls.stream().filter(call -> call.startsWith("removed")))
                    .hasSameSizeAs(seen);
        }

        /** Whether its provider fails to close or not. */
        @ParameterizedTest
        @ValueSource(booleans = {false, true})
        void endsWithTheEnvironment(boolean isFailing) {
            final Environment environment = open("0");
            final FakeFactory provider = FakeFactory.cpu("plain");
            environment.register(provider);
            environment.observe(listener);
            if (isFailing) {
                provider.before(Faults.on("close", new DeviceException("the device fails", null)));
                assertThatExceptionOfType(DeviceException.class).isThrownBy(environment::close);
            } else {
                environment.close();
            }
            assertThat(calls.stream().filter(call -> call.startsWith("removed")))
                    .hasSameSizeAs(seen);
            assertThatIllegalStateException().isThrownBy(() -> environment.observe(listener));
        }
    }
}
