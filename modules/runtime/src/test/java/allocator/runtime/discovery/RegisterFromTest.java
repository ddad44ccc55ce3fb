package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderException;
import allocator.runtime.ProviderReport;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.StillInUseException;
import allocator.spi.InvalidOptionException;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Providers that are registered by the path of their jars, and unregistered, while the environment lives. */
class RegisterFromTest {
    @TempDir
    static Path jars;

    @TempDir
    Path work;

    private Environment environment = builder().build();

    /** Two complete providers of memory of their own, and one whose allocators are missing. */
    @BeforeAll
    static void pack() throws IOException {
        ProviderJar.good("good", "Good").pack(jars, jars.resolve("good.jar"));
        ProviderJar.good("other", "Other").pack(jars, jars.resolve("other.jar"));
        ProviderJar.of("none", "None", "", "null").pack(jars, jars.resolve("none.jar"));
    }

    @AfterEach
    void close() {
        environment.close();
    }

    private static EnvironmentBuilder builder() {
        return Environment.builder().modulePathProviders(false);
    }

    private static Path jar(String name) {
        return jars.resolve(name);
    }

    /** A directory that holds some of the jars. */
    private Path directory(String... names) throws IOException {
        final Path directory = Files.createTempDirectory(work, "providers");
        for (final String name : names) {
            Files.copy(jar(name), directory.resolve(name));
        }
        return directory;
    }

    private static List<String> names(List<ProviderReport> reports) {
        assertThat(reports).allMatch(ProviderReport::isRegistered);
        return reports.stream().map(ProviderReport::name).toList();
    }

    private List<String> registered() {
        return names(environment.providers());
    }

    /** Requires that a path is rejected, with words of the message, and that nothing has changed. */
    private void assertRejected(Path path, Class<? extends Exception> type, String... words) {
        final List<ProviderReport> before = environment.providers();
        final List<ManagedAllocator> shared = environment.sharedAllocators();
        assertThatThrownBy(() -> environment.registerFrom(path))
                .isInstanceOf(type)
                .hasMessageContainingAll(words);
        assertThat(environment.providers()).isEqualTo(before);
        assertThat(environment.sharedAllocators()).isEqualTo(shared);
    }

    private Session open(String provider) {
        return environment.openSession(
                SessionOptions.builder().provider(provider).build());
    }

    @Test
    void aJarIsRegisteredUnregisteredAndRegisteredAgain() {
        for (int i = 0; i < 2; i++) {
            assertThat(environment.registerFrom(jar("good.jar")))
                    .singleElement()
                    .satisfies(report -> {
                        assertThat(report.name()).isEqualTo("Good");
                        assertThat(report.module()).isEqualTo("good");
                        assertThat(report.origin()).isEqualTo(jar("good.jar").toString());
                    });
            assertThat(registered()).containsExactly("Good");
            try (Session session = open("Good")) {
                session.allocator().free(session.allocator().alloc(64));
            }
            assertThat(environment.sharedAllocators()).hasSize(1);
            environment.unregister("Good");
            assertThat(environment.providers()).isEmpty();
            assertThat(environment.sharedAllocators()).isEmpty();
        }
    }

    @Test
    void aJarCanBeGivenToTheBuilderToo() {
        environment.close();
        environment = builder().providersFrom(jar("good.jar")).build();
        assertThat(registered()).containsExactly("Good");
    }

    @Test
    void theProvidersOfADirectoryAreRegisteredInTheirOrder() throws IOException {
        environment.close();
        environment = builder()
                .option(EnvironmentBuilder.PROVIDER_ORDER, "Other,Good")
                .build();
        assertThat(names(environment.registerFrom(directory("good.jar", "other.jar"))))
                .containsExactly("Other", "Good");
    }

    @Test
    void ofTwoProvidersOfOneMemoryTheSecondSaysWhichOneServes() throws IOException {
        final Path directory = directory("good.jar");
        ProviderJar.good("second", "Second")
                .source("module-info.java", """
                        module second {
                            requires java.allocator.spi;
                            provides allocator.spi.EpFactory with second.Same;
                        }
                        """)
                .source("second/Same.java", """
                        package second;

                        import module java.allocator.spi;
                        import java.util.Map;

                        public class Same extends Factory {
                            public DeviceDiscovery discoverDevices() {
                                return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "cpu", Map.of()))
                                        .memory(new MemoryInfo("Second", new MemoryLocation(
                                                DeviceType.CPU, 0, Math.abs("Good".hashCode()), MemoryType.DEFAULT), 64,
                                                AllocatorType.DEVICE))
                                        .build());
                            }
                        }
                        """)
                .pack(work, directory.resolve("second.jar"));
        final List<ProviderReport> reports = environment.registerFrom(directory);
        assertThat(names(reports)).containsExactly("Good", "Second");
        assertThat(reports.getLast().notes())
                .singleElement()
                .asString()
                .contains("that of Good, since", "its name comes first", "none is made");
        assertThat(environment.sharedAllocators()).hasSize(1);
    }

    @Test
    void oneFaultInADirectoryLeavesAllOfItUnregistered() throws IOException {
        environment.registerFrom(jar("other.jar"));
        final Path damaged = directory("good.jar");
        Files.writeString(damaged.resolve("broken.jar"), "this is no archive");
        assertRejected(damaged, IllegalArgumentException.class, damaged.toString(), "broken.jar: ");
        assertRejected(
                directory("good.jar", "none.jar"),
                ProviderException.class,
                "provider None returned null from createAllocator");
        assertRejected(
                directory("good.jar", "other.jar"),
                IllegalStateException.class,
                "already registered under Other (from " + jar("other.jar"));
        Files.delete(damaged.resolve("broken.jar"));
        assertThat(names(environment.registerFrom(damaged))).containsExactly("Good");
    }

    @Test
    void badInputIsNamed() throws IOException {
        assertRejected(
                work.resolve("missing.jar"),
                IllegalArgumentException.class,
                "missing.jar was registered: ",
                "the path does not exist");
        final Path library = work.resolve("library.jar");
        new LibraryJar(work).pack(library);
        assertRejected(
                library,
                IllegalArgumentException.class,
                library + " was registered",
                "the jar holds no provider module");
        final Path damaged = Files.write(work.resolve("half.jar"), new byte[] {'P', 'K', 3, 4, 0});
        assertRejected(damaged, IllegalArgumentException.class, "half.jar: ");
        final Path needy = work.resolve("needy.jar");
        new LibraryJar(work).packNeedy(library, needy);
        assertRejected(needy, IllegalArgumentException.class, "needy.Factory: ", "Module library not found");
        final Path twice = directory("good.jar");
        Files.copy(jar("good.jar"), twice.resolve("copy.jar"));
        assertRejected(twice, IllegalArgumentException.class, "module good is in two jars", "copy.jar", "good.jar");

        environment.registerFrom(jar("good.jar"));
        assertRejected(
                jar("good.jar"), IllegalStateException.class, "already registered under Good (from " + jar("good.jar"));
    }

    @Test
    void aSettingThatIsNotUnderstoodIsRejected() {
        environment.close();
        environment = builder().option("ep_factory.Good.arena.max_mem", "1").build();
        assertRejected(jar("good.jar"), InvalidOptionException.class, "ep_factory.Good.arena.max_mem");
    }

    @Test
    void theListsOfTheBuilderApply() throws IOException {
        environment.close();
        final EnvironmentBuilder builder = builder().exclude("other");
        environment = builder.build();
        builder.exclude("good");
        assertThat(names(environment.registerFrom(directory("good.jar", "other.jar"))))
                .as("the lists as they were when it was built")
                .containsExactly("Good");
        assertRejected(jar("other.jar"), IllegalArgumentException.class, "other.Factory: other is excluded");
        environment.close();
        environment = builder().allowModules("good").build();
        assertRejected(
                jar("other.jar"),
                IllegalArgumentException.class,
                "other.Factory: module other is not on the allow-list [good]");
        assertThat(names(environment.registerFrom(jar("good.jar")))).containsExactly("Good");
    }

    @Test
    void aProviderInUseStaysAndItsUsersAreNamed() {
        environment.registerFrom(jar("good.jar"));
        final Session session = environment.openSession(
                SessionOptions.builder().name("bert").provider("Good").build());
        assertThatThrownBy(() -> environment.unregister("Good"))
                .isInstanceOf(StillInUseException.class)
                .hasMessageContaining("provider Good cannot be unregistered")
                .hasMessageContaining("bert is open");
        session.allocator().free(session.allocator().alloc(64));
        session.close();
        environment.unregister("Good");
        assertThat(environment.providers()).isEmpty();
    }

    @Test
    void aClosedEnvironmentRegistersNothing() {
        environment.close();
        assertThatThrownBy(() -> environment.registerFrom(jar("good.jar")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the environment is closed");
    }

    @Test
    void afterItsLastProviderIsUnregisteredTheClassesOfADirectoryAreUnloaded() throws Exception {
        final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        environment.registerFrom(directory("good.jar", "other.jar"));
        loaders.add(use("Good"));
        loaders.add(use("Other"));
        environment.unregister("Good");
        use("Other");
        environment.unregister("Other");
        final int attempts = 100;
        for (int i = 0; i < attempts && loaders.stream().anyMatch(loader -> !loader.refersTo(null)); i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(loaders).allMatch(loader -> loader.refersTo(null));
    }

    /** Opens, uses, describes and closes a session of a provider; returns the loader of its allocators' class. */
    private WeakReference<ClassLoader> use(String provider) {
        final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        final SessionOptions options = SessionOptions.builder()
                .provider(provider)
                .decorator(allocator -> {
                    loaders.add(new WeakReference<>(allocator.getClass().getClassLoader()));
                    return allocator;
                })
                .build();
        try (Session session = environment.openSession(options)) {
            session.run(
                    RunOptions.DEFAULT,
                    run -> run.allocator().free(run.allocator().alloc(64)));
            session.report();
            environment.snapshot();
        }
        environment.sharedAllocators().forEach(shared -> shared.free(shared.alloc(64)));
        return loaders.getFirst();
    }
}
