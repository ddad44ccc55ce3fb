package allocator.architecture.tests;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleDescriptor.Requires.Modifier;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who may require whom, and how modules, packages and artifacts are named. */
class DependencyRulesTest {
    private static final String PREFIX = "java.";
    private static final String SPI = "java.allocator.spi";
    private static final String RUNTIME = "java.allocator.runtime";
    private static final String KIT = "java.allocator.conformance";
    private static final String DROP_IN = "java.allocator.arrow.dropin";
    private static final String KIT_FOLDER = "modules/conformance/kit";

    static List<ModuleDescriptor> modules() {
        return ReactorModule.descriptors();
    }

    /** The modules whose names are ours to give; a repackaged library keeps its own. */
    static List<ModuleDescriptor> ownModules() {
        return modules().stream()
                .filter(module -> module.name().startsWith(PREFIX))
                .toList();
    }

    static List<ReactorModule> reactor() {
        return ReactorModule.all();
    }

    @Test
    void spiNeedsNothingButJavaBaseAtRunTime() {
        assertThat(module(SPI).requires())
                .filteredOn(requires -> !requires.modifiers().contains(Modifier.STATIC))
                .extracting(Requires::name)
                .containsExactly("java.base");
        assertThat(module(SPI).requires())
                .filteredOn(requires -> requires.modifiers().contains(Modifier.STATIC))
                .extracting(Requires::name)
                .isSubsetOf("org.jspecify");
    }

    @ParameterizedTest
    @MethodSource("modules")
    void noModuleRequiresAProvider(ModuleDescriptor module) {
        assertThat(required(module)).doesNotContainAnyElementsOf(providers());
    }

    @ParameterizedTest
    @MethodSource("modules")
    void providersAndTheKitDoWithoutTheRuntime(ModuleDescriptor module) {
        if (providers().contains(module.name()) || module.name().equals(KIT)) {
            assertThat(required(module)).doesNotContain(RUNTIME);
        }
    }

    /** A vendor's test brings its own launcher; the command line belongs to the runner. */
    @Test
    void theKitNeedsNothingOfJUnitButItsApi() {
        assertThat(required(module(KIT)))
                .contains("org.junit.jupiter.api")
                .doesNotContain("org.junit.platform.launcher", "org.junit.jupiter.engine", "info.picocli");
        assertThat(new ReactorModule(KIT_FOLDER).dependencies())
                .doesNotContain("junit-platform-launcher", "junit-jupiter-engine", "picocli");
    }

    @ParameterizedTest
    @MethodSource("reactor")
    void nothingDependsOnTheBenchmarks(ReactorModule module) {
        assertThat(module.dependencies()).doesNotContain("java-allocator-bench");
    }

    /** The drop-in has a package of Arrow, by whose name Arrow finds it. */
    @ParameterizedTest
    @MethodSource("ownModules")
    void packagesLieAtOrBelowTheNameOfTheirModule(ModuleDescriptor module) {
        String root = module.name().equals(DROP_IN)
                ? "org.apache.arrow.memory.unsafe"
                : module.name().substring(PREFIX.length());
        assertThat(module.packages()).allSatisfy(name -> assertThat(name + ".").startsWith(root + "."));
    }

    /** The compiler lets such a package pass; the virtual machine refuses to start with it. */
    @ParameterizedTest
    @MethodSource("reactor")
    void noPackageStartsWithJava(ReactorModule module) {
        assertThat(List.of("src/main/java/java", "src/test/java/java"))
                .allSatisfy(folder -> assertThat(module.path().resolve(folder)).doesNotExist());
    }

    /** The class path knows of {@code META-INF/services} only, the module path of {@code provides} only. */
    @ParameterizedTest
    @MethodSource("reactor")
    void servicesAreDeclaredForBothPaths(ReactorModule module) throws IOException {
        assertThat(ServiceFiles.in(module.path().resolve("src/main/resources")))
                .isEqualTo(module.descriptor().map(ServiceFiles::of).orElse(Map.of()));
    }

    @ParameterizedTest
    @MethodSource("reactor")
    void artifactsAreNamedAfterTheirModule(ReactorModule module) {
        module.descriptor()
                .map(ModuleDescriptor::name)
                .filter(name -> name.startsWith(PREFIX))
                .ifPresent(name -> assertThat(module.artifactId()).isEqualTo(name.replace('.', '-')));
    }

    /** Folders group modules; only the last folder has to say which module lies there. */
    @ParameterizedTest
    @MethodSource("reactor")
    void foldersEndInTheNameOfTheirModule(ReactorModule module) {
        if (!module.folder().equals(KIT_FOLDER)) {
            assertThat(module.artifactId()).startsWith("java-allocator-").endsWith("-" + module.shortName());
        }
    }

    /** So that Maven builds every module before it tests them here. */
    @Test
    void thisModuleDependsOnEveryOther() {
        var modules = reactor().stream()
                .filter(module -> module.descriptor().isPresent())
                .map(ReactorModule::artifactId)
                .toList();
        assertThat(new ReactorModule("modules/architecture-tests").dependencies())
                .containsAll(modules);
    }

    private static Set<String> required(ModuleDescriptor module) {
        return module.requires().stream().map(Requires::name).collect(toSet());
    }

    private static Set<String> providers() {
        return reactor().stream()
                .filter(ReactorModule::isProvider)
                .flatMap(module -> module.descriptor().stream())
                .map(ModuleDescriptor::name)
                .collect(toSet());
    }

    private static ModuleDescriptor module(String name) {
        return modules().stream()
                .filter(module -> module.name().equals(name))
                .findFirst()
                .orElseThrow();
    }
}
