package allocator.arrow.dropin;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.arrow.ArrowMemory;
import allocator.arrow.dropin.program.Leaking;
import allocator.arrow.dropin.program.Limited;
import allocator.arrow.dropin.program.ProviderBelow;
import allocator.arrow.dropin.program.Redeployed;
import allocator.arrow.dropin.program.Rejected;
import allocator.arrow.dropin.program.Served;
import allocator.provider.support.Limit;
import allocator.resource.budget.BudgetResource;
import allocator.spi.EpFactory;
import allocator.testkit.OwnJvm;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.unsafe.DefaultAllocationManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs in processes of their own, where class path, flags and properties matter. */
class DropInTest {
    private static final String NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED";
    private static final String QUIET = "--sun-misc-unsafe-memory-access=allow";
    private static final Path OTHER = Path.of("target", "other-arrow");
    private static final Class<?> LOGGING = org.slf4j.Logger.class;

    private static final List<Class<?>> OURS = new ArrayList<>(List.of(
            DefaultAllocationManagerFactory.class,
            ArrowMemory.class,
            BudgetResource.class,
            Limit.class,
            EpFactory.class,
            allocator.arena.BfcArena.class,
            allocator.plan.PlanFile.class));

    static {
        ServiceLoader.load(EpFactory.class).stream().forEach(provider -> OURS.add(provider.type()));
    }

    private static String path(Object... entries) {
        return Stream.of(entries)
                .map(entry -> entry instanceof Class<?> type ? OwnJvm.path(List.of(type)) : entry.toString())
                .collect(joining(File.pathSeparator));
    }

    private static String ours() {
        return OwnJvm.path(OURS);
    }

    private static Path other(String jar) {
        return OTHER.resolve(jar + ".jar");
    }

    private static final Class<?> CORE = BufferAllocator.class;

    private static String run(String classPath, Class<?> program, List<String> options, String... arguments)
            throws Exception {
        final List<String> all = new ArrayList<>(List.of("--illegal-native-access=deny", QUIET));
        all.addAll(options);
        return OwnJvm.run(classPath, program, all, arguments);
    }

    private static String standard(Class<?> program) {
        return path(program, LOGGING, ours(), CORE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "Unsafe"})
    void isFoundByNameAndByType(String type) throws Exception {
        run(standard(Served.class), Served.class, List.of(NATIVE_ACCESS, "-Darrow.allocation.manager.type=" + type));
    }

    @Test
    void servesTheOldestSupportedArrow() throws Exception {
        run(
                path(Served.class, LOGGING, ours(), other("arrow-memory-core-18.3.0")),
                Served.class,
                List.of(NATIVE_ACCESS, "--add-opens=java.base/java.nio=ALL-UNNAMED"));
    }

    @Test
    void comesBeforeNetty() throws Exception {
        run(
                path(Served.class, LOGGING, other("arrow-memory-netty-19.0.0"), CORE, ours()),
                Served.class,
                List.of(NATIVE_ACCESS));
    }

    @Test
    void servesOnTheModulePath() throws Exception {
        run(
                path(Served.class),
                Served.class,
                List.of(
                        "--module-path",
                        path(LOGGING, ours(), CORE),
                        "--add-modules=java.allocator.arrow.dropin",
                        "--enable-native-access=java.allocator.cpu.reference"),
                "org.apache.arrow.memory.core");
    }

    @Test
    void limitsAProgramThatKnowsNothingOfIt() throws Exception {
        run(
                standard(Limited.class),
                Limited.class,
                List.of(NATIVE_ACCESS, "-Djava.allocator.arrow.arena.max_mem=33554432"),
                "33554432");
    }

    @Test
    void reportsLeaksWithTheirSiteAtTheEnd() throws Exception {
        assertThat(run(
                        standard(Leaking.class),
                        Leaking.class,
                        List.of(NATIVE_ACCESS, "-Djava.allocator.arrow.track_leaks=1")))
                .contains("Arrow buffers at the end of the process: 1024 bytes in 1 block not deallocated")
                .contains("at allocator.arrow.dropin.program.Leaking.forget(Leaking.java:");
    }

    @Test
    void endsWithItsApplication() throws Exception {
        redeploy("shrink_seconds=1", false);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({"shrink_seconds=0, true", "track_leaks=1, true"})
    void endsWithAnApplicationThatClosesItsAllocators(String setting, boolean closes) throws Exception {
        redeploy(setting, closes);
    }

    private static void redeploy(String setting, boolean closes) throws Exception {
        run(
                path(Redeployed.class),
                Redeployed.class,
                List.of(
                        NATIVE_ACCESS,
                        "-Xmx64m",
                        "-XX:SoftRefLRUPolicyMSPerMB=0", // the JDK's cache of method types refers softly to the latest
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "-Djava.allocator.arrow." + setting),
                standard(Redeployed.class),
                String.valueOf(closes));
    }

    @Test
    void findsTheProviderOfAnApplicationBelowItAndNamesWhereItFoundNone() throws Exception {
        final List<Class<?>> below = OURS.stream()
                .filter(type -> type.getPackageName().matches("allocator\\.(arena|plan|cpu).*"))
                .toList();
        final List<Class<?>> above =
                OURS.stream().filter(type -> !below.contains(type)).toList();
        assertThat(run(
                        path(ProviderBelow.class, LOGGING, OwnJvm.path(above), CORE),
                        ProviderBelow.class,
                        List.of(NATIVE_ACCESS),
                        OwnJvm.path(below)))
                .contains("no provider is called cpu-reference; the class loader jdk.internal.loader", " has none")
                .contains("served below");
    }

    @Test
    void rejectsASecondManagerOfItsName() throws Exception {
        run(
                path(Rejected.class, LOGGING, ours(), CORE, other("arrow-memory-unsafe-19.0.0")),
                Rejected.class,
                List.of(NATIVE_ACCESS),
                "several jars have Arrow's default allocation manager",
                "remove arrow-memory-unsafe or java-allocator-arrow-dropin",
                "arrow-memory-unsafe-19.0.0.jar");
    }

    @Test
    void rejectsAnArrowThatIsTooOld() throws Exception {
        run(
                path(Rejected.class, LOGGING, ours(), other("arrow-memory-core-17.0.0")),
                Rejected.class,
                List.of(NATIVE_ACCESS),
                "arrow-memory-core is 17.0.0 at file:",
                "needs 18 to 19");
    }

    @Test
    void namesTheFlagOfNativeAccess() throws Exception {
        run(
                standard(Rejected.class),
                Rejected.class,
                List.of(),
                "needs native access: start java with --enable-native-access=ALL-UNNAMED");
    }

    @Test
    void rejectsAWrongSetting() throws Exception {
        requireRejected("arena.max_men=0");
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(strings = {"budget=-1", "arena.max_mem=1048576", "provider=gpu"})
    void rejectsOtherWrongSettings(String setting) throws Exception {
        requireRejected(setting);
    }

    private static void requireRejected(String setting) throws Exception {
        run(
                standard(Rejected.class),
                Rejected.class,
                List.of(NATIVE_ACCESS, "-Djava.allocator.arrow." + setting),
                "system property java.allocator.arrow." + setting.substring(0, setting.indexOf('=')));
    }
}
