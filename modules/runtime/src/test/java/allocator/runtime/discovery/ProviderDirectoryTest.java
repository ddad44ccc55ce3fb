package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ProviderReport;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.InvalidOptionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Providers of real jars, compiled here, in module layers. Each broken one stands beside a good one that must work. */
class ProviderDirectoryTest {
    @TempDir
    static Path good;

    @TempDir
    Path work;

    private Path directory;
    private Environment environment;

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectory(work.resolve("providers"));
    }

    @AfterEach
    void close() {
        if (environment != null) {
            environment.close();
        }
    }

    private EnvironmentBuilder builder() {
        return Environment.builder().modulePathProviders(false).providersFrom(directory);
    }

    /** The same jar for all tests, since compiling takes most of their time. */
    private void packGood() throws IOException {
        if (Files.notExists(good.resolve("good.jar"))) {
            ProviderJar.good("good", "Good").pack(good, good.resolve("good.jar"));
        }
        Files.copy(good.resolve("good.jar"), directory.resolve("good.jar"));
    }

    private void pack(ProviderJar jar, String name) throws IOException {
        jar.pack(work, directory.resolve(name));
    }

    private ProviderReport failure(String name) {
        return environment.providers().stream()
                .filter(report -> report.name().equals(name) && !report.isRegistered())
                .findFirst()
                .orElseThrow(() -> new AssertionError("no failure of " + name + " in " + environment.providers()));
    }

    private void assertGoodOneWorks() {
        assertThat(environment.providers())
                .filteredOn(ProviderReport::isRegistered)
                .singleElement()
                .satisfies(report -> {
                    assertThat(report.name()).isEqualTo("Good");
                    assertThat(report.vendor()).isEqualTo("a test");
                    assertThat(report.version()).isEqualTo("7");
                    assertThat(report.module()).isEqualTo("good");
                    assertThat(report.origin()).endsWith("good.jar");
                    assertThat(report.devices()).hasSize(1);
                });
        try (Session session = environment.openSession(
                SessionOptions.builder().provider("Good").build())) {
            session.allocator().free(session.allocator().alloc(64));
        }
    }

    private String open() {
        environment = builder().build();
        assertGoodOneWorks();
        return environment.providers().toString();
    }

    @Test
    void aGoodOneIsFoundInALayerOfItsOwn() throws IOException {
        packGood();
        open();
        assertThat(environment.providers()).hasSize(1);
        assertThat(ModuleLayer.boot().findModule("good")).isEmpty();
    }

    @Test
    void oneThatThrowsInItsConstructorIsReported() throws IOException {
        packGood();
        pack(
                ProviderJar.of("bad", "Bad", "if (true) throw new IllegalStateException(\"no licence\");", "allocator"),
                "bad.jar");
        open();
        assertThat(failure("bad.Factory").failure().orElseThrow()).contains("no licence");
        assertThat(failure("bad.Factory").origin()).endsWith("bad.jar");
        assertThat(failure("bad.Factory").module()).isEqualTo("bad");
    }

    @Test
    void oneThatMissesAClassIsReported() throws IOException {
        packGood();
        final ProviderJar linking = ProviderJar.of("linking", "Linking", "new Helper().help();", "allocator")
                .source("linking/Helper.java", "package linking; class Helper { void help() {} }")
                .without("linking/Helper.class");
        pack(linking, "linking.jar");
        open();
        assertThat(failure("linking.Factory").failure().orElseThrow())
                .contains("NoClassDefFoundError", "linking/Helper");
    }

    @Test
    void oneWhoseSuperclassIsMissingIsReported() throws IOException {
        packGood();
        final ProviderJar orphan = ProviderJar.good("orphan", "Orphan")
                .source("orphan/Base.java", "package orphan; public class Base extends Factory {}")
                .source("orphan/Child.java", "package orphan; public class Child extends Base {}")
                .source(
                        "module-info.java",
                        "module orphan { requires java.allocator.spi; provides allocator.spi.EpFactory with "
                                + "orphan.Child; }")
                .without("orphan/Base.class");
        pack(orphan, "orphan.jar");
        open();
        assertThat(failure("orphan.Child").failure().orElseThrow()).contains("orphan/Base");
        assertThat(failure("orphan.Child").origin()).endsWith("orphan.jar");
    }

    @Test
    void oneThatRequiresAMissingModuleIsReported() throws IOException {
        packGood();
        final Path library = work.resolve("library.jar");
        new LibraryJar(work).pack(library);
        new LibraryJar(work).packNeedy(library, directory.resolve("needy.jar"));
        open();
        assertThat(failure("needy.Factory").failure().orElseThrow()).contains("library", "needy");
    }

    @Test
    void twoOfOneNameAreBothRejected() throws IOException {
        packGood();
        pack(ProviderJar.good("first", "Twin"), "first.jar");
        pack(ProviderJar.good("second", "Twin"), "second.jar");
        open();
        assertThat(environment.providers())
                .filteredOn(report -> report.name().equals("Twin"))
                .hasSize(2)
                .allSatisfy(report -> assertThat(report.failure().orElseThrow())
                        .contains("first.Factory of first", "second.Factory of second"));
    }

    @Test
    void oneOfTwoOfOneNameCanBeExcluded() throws IOException {
        packGood();
        pack(ProviderJar.good("first", "GOOD"), "first.jar");
        environment = builder().exclude("first").build();
        assertGoodOneWorks();
        assertThat(failure("first.Factory").failure()).contains("first is excluded");
        environment.close();
        environment = builder().exclude("first.Factory").build();
        assertGoodOneWorks();
        assertThat(environment.providers()).hasSize(2);
    }

    @Test
    void oneThatReturnsTheArenaTypeIsRejected() throws IOException {
        packGood();
        pack(
                ProviderJar.of(
                        "arena",
                        "Arena",
                        "",
                        "new Counting(new MemoryInfo(\"Arena\", info.location(), 64, AllocatorType.ARENA))"),
                "arena.jar");
        open();
        assertThat(failure("Arena").failure().orElseThrow()).contains("provider Arena", "type ARENA", "reserved");
    }

    @Test
    void oneThatReturnsNullIsRejected() throws IOException {
        packGood();
        pack(ProviderJar.of("none", "None", "", "null"), "none.jar");
        open();
        assertThat(failure("None").failure().orElseThrow())
                .contains("provider None returned null from createAllocator(None (cpu:");
    }

    @Test
    void oneWhoseInfoDiffersIsRejected() throws IOException {
        packGood();
        pack(
                ProviderJar.of(
                        "other",
                        "Other",
                        "",
                        "new Counting(new MemoryInfo(\"Other\", info.location(), 32, info.allocatorType()))"),
                "other.jar");
        open();
        assertThat(failure("Other").failure().orElseThrow()).contains("alignment 32 instead of 64");
    }

    @Test
    void otherFilesAreNoObstacle() throws IOException {
        packGood();
        Files.writeString(directory.resolve("README.txt"), "jars of providers go here");
        Files.createDirectory(directory.resolve("folder"));
        Files.writeString(directory.resolve("broken.jar"), "this is no archive");
        Files.writeString(directory.resolve("empty.jar"), "");
        open();
        assertThat(environment.providers()).hasSize(3);
        assertThat(failure("broken.jar").failure().orElseThrow()).contains("broken.jar");
        assertThat(failure("empty.jar").origin()).endsWith("empty.jar");
    }

    @Test
    void theApplicationsOwnModulesAreNotLoadedTwice() throws IOException {
        packGood();
        // A copy of the contract, as a directory of "all dependencies" holds it.
        new LibraryJar(work).packNamed("java.allocator.spi", directory.resolve("spi.jar"));
        open();
    }

    @Test
    void twoJarsOfOneModuleAreBothRejected() throws IOException {
        packGood();
        pack(ProviderJar.good("twice", "Twice"), "twice-1.jar");
        pack(ProviderJar.good("twice", "Twice"), "twice-2.jar");
        open();
        assertThat(failure("twice-2.jar").failure().orElseThrow())
                .contains("module twice is in two jars", "twice-1.jar");
        assertThat(environment.providers()).hasSize(2);
    }

    @Test
    void aModuleThatIsNotOnTheAllowListIsNotEvenInitialized() throws IOException {
        packGood();
        pack(
                ProviderJar.of("rogue", "Rogue", "System.setProperty(\"allocator.test.rogue\", \"ran\");", "allocator"),
                "rogue.jar");
        environment = builder().allowModules("good").build();
        assertGoodOneWorks();
        assertThat(failure("rogue.Factory").failure().orElseThrow())
                .isEqualTo("module rogue is not on the allow-list [good]");
        assertThat(System.getProperty("allocator.test.rogue")).isNull();
    }

    /** A module whose provider method makes a factory of another module, or of no named type. */
    private ProviderJar withMethod(String module, String requires, String type, String made) throws IOException {
        return ProviderJar.good(module, module)
                .source("module-info.java", """
                        module %1$s {
                            requires java.allocator.spi;
                            %2$s
                            exports %1$s;
                            provides allocator.spi.EpFactory with %1$s.Entry;
                        }
                        """.formatted(module, requires))
                .source(module + "/Entry.java", """
                        package %1$s;

                        public class Entry {
                            public static %2$s provider() {
                                System.setProperty("allocator.test.%1$s", "ran");
                                return new %3$s();
                            }
                        }
                        """.formatted(module, type, made));
    }

    @Test
    void aProviderMethodThatDeclaresTheServiceItselfIsLoaded() throws IOException {
        packGood();
        pack(withMethod("plain", "", "allocator.spi.EpFactory", "Factory"), "plain.jar");
        environment = builder().allowModules("good", "plain").build();
        assertThat(environment.providers())
                .extracting(ProviderReport::name, ProviderReport::module)
                .containsExactly(tuple("Good", "good"), tuple("plain", "plain"));
        assertThat(environment.providers().getLast().origin()).endsWith("plain.jar");
    }

    @Test
    void aProviderMethodThatDeclaresTheServiceItselfIsExcludedByModuleAndByClass() throws IOException {
        packGood();
        pack(withMethod("barred", "", "allocator.spi.EpFactory", "Factory"), "barred.jar");
        for (final String name : List.of("barred", "barred.Entry")) {
            environment = builder().exclude(name).build();
            assertGoodOneWorks();
            assertThat(failure("barred.Entry").failure()).contains(name + " is excluded");
            environment.close();
        }
        assertThat(System.getProperty("allocator.test.barred")).isNull();
    }

    /** The module that provides decides, not the module of the class that its method returns. */
    @Test
    void aModuleThatIsNotAllowedDoesNotRunThroughAnAllowedType() throws IOException {
        packGood();
        final Path maker = directory.resolve("maker.jar");
        withMethod("maker", "", "Factory", "Factory").pack(work, maker);
        final Path thief = directory.resolve("thief.jar");
        withMethod("thief", "requires maker;", "maker.Factory", "maker.Factory")
                .requiring(maker)
                .pack(work, thief);
        // The thief is in the layer, since an allowed module requires it.
        final ProviderJar needy =
                withMethod("needy", "requires thief;", "Factory", "Factory").requiring(maker);
        pack(needy.requiring(thief), "needy.jar");
        environment = builder().allowModules("good", "maker", "needy").build();
        assertThat(System.getProperty("allocator.test.thief")).isNull();
        assertThat(environment.providers())
                .filteredOn(ProviderReport::isRegistered)
                .extracting(ProviderReport::module)
                .containsExactly("good", "maker", "needy");
        assertThat(failure("thief.Entry").failure())
                .contains("module thief is not on the allow-list [good, maker, needy]");
    }

    @Test
    void aNameThatOverflowsTheStackCostsNoOther() throws IOException {
        packGood();
        pack(
                ProviderJar.good("deep", "Deep")
                        .source("deep/Endless.java", """
                        package deep;

                        public class Endless extends Factory {
                            public String name() { return name() + "."; }
                        }
                        """)
                        .source(
                                "module-info.java",
                                "module deep { requires java.allocator.spi; provides allocator.spi.EpFactory with "
                                        + "deep.Endless; }"),
                "deep.jar");
        open();
        assertThat(failure("deep.Endless").failure().orElseThrow()).isEqualTo("java.lang.StackOverflowError");
    }

    @Test
    void anAllowListHoldsForTheModulePathToo() {
        environment = Environment.builder().allowModules("nothing").build();
        assertThat(environment.devices()).isEmpty();
    }

    @Test
    void twoDirectoriesDoNotSeeEachOther() throws IOException {
        final Path second = Files.createDirectory(work.resolve("more"));
        pack(ProviderJar.good("same", "First"), "same.jar");
        ProviderJar.good("same", "Second").pack(work, second.resolve("same.jar"));
        environment = builder().providersFrom(second).build();
        assertThat(environment.providers())
                .extracting(ProviderReport::name)
                .containsExactlyInAnyOrder("First", "Second");
    }

    @Test
    void aDirectoryThatIsEmptyOrMissingIsReported() {
        environment = builder().providersFrom(work.resolve("missing")).build();
        assertThat(failure(directory.toString()).failure()).contains("the directory holds no provider module");
        assertThat(failure(work.resolve("missing").toString()).failure()).contains("the path does not exist");
    }

    @Test
    void aSettingThatIsRejectedEndsTheBuilding() throws IOException {
        packGood();
        final EnvironmentBuilder builder = builder().option("ep_factory.Good.arena.max_mem", "1");
        assertThatThrownBy(builder::build)
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("ep_factory.Good.arena.max_mem");
    }

    @Test
    void anUnregisteredProviderCanBeRegisteredByADirectoryAgain() throws IOException {
        packGood();
        open();
        environment.unregister("Good");
        assertThat(environment.providers()).isEmpty();
        environment.close();
        open();
    }
}
