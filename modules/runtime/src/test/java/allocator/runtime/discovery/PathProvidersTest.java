package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import allocator.spi.EpFactory;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The lists of what may load, against modules on a module path: a layer of real modules, of which a service loader
 * shows only the types that they make.
 */
class PathProvidersTest {
    @TempDir
    static Path jars;

    @TempDir
    static Path work;

    private ProviderSearch search = new ProviderSearch();

    /**
     * {@code maker} makes its own class by the constructor. The others have methods: those of {@code first},
     * {@code second} and {@code accessible} declare {@link EpFactory}, that of {@code thief} declares maker's class,
     * that of {@code other} declares its own.
     */
    @BeforeAll
    static void pack() throws IOException {
        final Path maker = jars.resolve("maker.jar");
        ProviderJar.good("maker", "Maker")
                .source("module-info.java", info("maker", "exports maker;", "maker.Factory"))
                .pack(work, maker);
        method("first", "", "allocator.spi.EpFactory", "Factory").pack(work, jars.resolve("first.jar"));
        method("second", "", "allocator.spi.EpFactory", "Factory").pack(work, jars.resolve("second.jar"));
        method("accessible", "exports accessible;", "allocator.spi.EpFactory", "Factory")
                .pack(work, jars.resolve("accessible.jar"));
        method("thief", "requires maker;", "maker.Factory", "maker.Factory")
                .requiring(maker)
                .pack(work, jars.resolve("thief.jar"));
        method("other", "", "Factory", "Factory").pack(work, jars.resolve("other.jar"));
    }

    private static String info(String module, String directives, String provider) {
        return "module " + module + " { requires java.allocator.spi; " + directives
                + " provides allocator.spi.EpFactory with " + provider + "; }";
    }

    private static ProviderJar method(String module, String directives, String type, String made) {
        return ProviderJar.good(module, module)
                .source("module-info.java", info(module, directives, module + ".Entry"))
                .source(module + "/Entry.java", """
                        package %1$s;

                        public class Entry {
                            public static %2$s provider() {
                                System.setProperty("allocator.test.path.%1$s", "ran");
                                return new %3$s();
                            }
                        }
                        """.formatted(module, type, made));
    }

    /** Finds what a layer of modules provides. */
    private SearchResult find(String... modules) {
        Arrays.stream(modules).forEach(module -> System.clearProperty(property(module)));
        final ModuleLayer parent = PathProvidersTest.class.getModule().getLayer();
        final Configuration configuration =
                parent.configuration().resolve(ModuleFinder.of(jars), ModuleFinder.of(), List.of(modules));
        final ModuleLayer layer =
                parent.defineModulesWithManyLoaders(configuration, ProviderSearch.class.getClassLoader());
        search.scan(
                ServiceLoader.load(layer, EpFactory.class).stream()
                        .filter(provider -> !provider.type().getName().startsWith("allocator.cpu"))
                        .iterator(),
                layer);
        return search.result(List.of());
    }

    private static String property(String module) {
        return "allocator.test.path." + module;
    }

    private static boolean hasRun(String module) {
        return System.getProperty(property(module)) != null;
    }

    private static List<String> modules(SearchResult found) {
        return found.factories().stream().map(LoadedFactory::module).sorted().toList();
    }

    @Test
    void withoutListsAllAreConstructed() {
        assertThat(modules(find("maker", "first", "second", "thief", "other")))
                .containsExactly("first", "maker", "maker", "other", "second");
    }

    @Nested
    class AllowList {
        @Test
        void anAllowedTypeDoesNotLetAnotherModuleRun() {
            search.allow(List.of("maker"));
            final SearchResult found = find("maker", "thief");
            assertThat(hasRun("thief")).isFalse();
            assertThat(modules(found)).containsExactly("maker");
            assertThat(found.skipped())
                    .extracting(SkippedProvider::name, SkippedProvider::reason)
                    .containsExactly(tuple("thief.Entry", "module thief is not on the allow-list [maker]"));
        }

        @Test
        void aMethodThatDeclaresTheServiceItselfIsAllowedByItsModuleOrClass() {
            for (final String name : List.of("first", "first.Entry")) {
                search = new ProviderSearch();
                search.allow(List.of(name));
                assertThat(modules(find("first"))).containsExactly("first");
            }
        }

        @Test
        void theServicesOwnModuleAllowsNothing() {
            search.allow(List.of("java.allocator.spi"));
            assertThat(find("first").factories()).isEmpty();
            assertThat(hasRun("first")).isFalse();
        }

        @Test
        void aTypeOfItsOwnTellsAMethodFromOthers() {
            search.allow(List.of("other"));
            assertThat(modules(find("first", "second", "other"))).containsExactly("other");
            assertThat(hasRun("first") || hasRun("second")).isFalse();
        }

        @Test
        void oneThatCannotBeToldFromAnotherIsNotRun() {
            search.allow(List.of("first"));
            final SearchResult found = find("first", "second");
            assertThat(found.factories()).isEmpty();
            assertThat(hasRun("first") || hasRun("second")).isFalse();
            assertThat(found.skipped())
                    .extracting(SkippedProvider::name)
                    .containsExactly("second.Entry", "first.Entry");
            assertThat(found.skipped().getLast().reason())
                    .contains("cannot be distinguished from second.Entry of second");
        }

        @Test
        void oneWhosePackageIsExportedIsRunAllTheSame() {
            search.allow(List.of("accessible"));
            assertThat(modules(find("accessible", "second"))).containsExactly("accessible");
            assertThat(hasRun("second")).isFalse();
        }
    }

    @Nested
    class Exclusion {
        @Test
        void aMethodThatDeclaresTheServiceItselfIsExcludedByItsModuleOrClass() {
            for (final String name : List.of("first", "first.Entry")) {
                search = new ProviderSearch();
                search.exclude(List.of(name));
                final SearchResult found = find("maker", "first");
                assertThat(modules(found)).containsExactly("maker");
                assertThat(hasRun("first")).isFalse();
            }
        }

        @Test
        void anExcludedModuleDoesNotRunThroughTheTypeOfAnother() {
            search.exclude(List.of("thief"));
            assertThat(modules(find("maker", "thief"))).containsExactly("maker");
            assertThat(hasRun("thief")).isFalse();
        }
    }
}
