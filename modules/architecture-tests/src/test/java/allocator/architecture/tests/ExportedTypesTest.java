package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A user of a module needs no other than those that it requires transitively: the types in its signatures are theirs.
 * The lint {@code exports} of the compiler checks that too, but counts null annotations, which users need not read to
 * compile.
 */
class ExportedTypesTest {
    private final Map<String, ModuleDescriptor> byPackage = new HashMap<>();

    @Test
    void signaturesHaveTypesOfTransitivelyRequiredModulesOnly() throws Exception {
        for (final ModuleDescriptor module : ReactorModule.descriptors()) {
            module.packages().forEach(name -> byPackage.put(name, module));
        }
        final List<String> violations = new ArrayList<>();
        for (final ReactorModule module : ReactorModule.all()) {
            if (module.descriptor().isPresent()) {
                check(module, module.descriptor().get(), violations);
            }
        }
        assertThat(violations).isEmpty();
    }

    private void check(ReactorModule module, ModuleDescriptor descriptor, List<String> violations) throws Exception {
        final Path classes = module.path().resolve("target/classes");
        for (final ModuleDescriptor.Exports exports : descriptor.exports()) {
            if (!exports.isQualified() && !isInternal(module, exports.source())) {
                for (final Class<?> type : types(classes, exports.source())) {
                    used(type)
                            .filter(one -> !isReadable(descriptor, one))
                            .forEach(one -> violations.add(type.getName() + " has " + one.getName()));
                }
            }
        }
    }

    /** Internal packages are no API: their users are modules of this project, which require what they need. */
    private static boolean isInternal(ReactorModule module, String packageName) throws IOException {
        final Path text = module.path().resolve("src/main/java", packageName.replace('.', '/'), "package-info.java");
        return Files.exists(text) && Files.readString(text).contains("<p>Internal:");
    }

    private static List<Class<?>> types(Path classes, String packageName) throws Exception {
        final Path folder = classes.resolve(packageName.replace('.', '/'));
        final List<Class<?>> types = new ArrayList<>();
        for (final Path file : files(folder)) {
            final String name = file.getFileName().toString();
            if (name.endsWith(".class") && !name.equals("package-info.class")) {
                final Class<?> type = Class.forName(
                        packageName + "." + name.substring(0, name.length() - ".class".length()),
                        false,
                        ExportedTypesTest.class.getClassLoader());
                if (isExported(type.getModifiers()) && !type.isAnonymousClass()) {
                    types.add(type);
                }
            }
        }
        return types;
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }

    private static boolean isExported(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }

    private static Stream<Class<?>> used(Class<?> type) {
        final Stream<Class<?>> supertypes =
                Stream.concat(Stream.ofNullable(type.getSuperclass()), Arrays.stream(type.getInterfaces()));
        final Stream<Class<?>> calls = Stream.<Executable>concat(
                        Arrays.stream(type.getDeclaredMethods()), Arrays.stream(type.getDeclaredConstructors()))
                .filter(one -> isExported(one.getModifiers()) && !one.isSynthetic())
                .flatMap(one -> Stream.of(
                                Arrays.stream(one.getParameterTypes()),
                                Arrays.stream(one.getExceptionTypes()),
                                one instanceof Method method
                                        ? Stream.<Class<?>>of(method.getReturnType())
                                        : Stream.<Class<?>>empty())
                        .flatMap(types -> types));
        final Stream<Class<?>> fields = Arrays.stream(type.getDeclaredFields())
                .filter(one -> isExported(one.getModifiers()))
                .map(Field::getType);
        return Stream.of(supertypes, calls, fields).flatMap(types -> types);
    }

    private boolean isReadable(ModuleDescriptor module, Class<?> type) {
        final Class<?> element = type.isArray() ? type.getComponentType() : type;
        final ModuleDescriptor owner = byPackage.get(element.getPackageName());
        return owner == null || owner.equals(module) || isRequiredTransitively(module, owner.name());
    }

    private boolean isRequiredTransitively(ModuleDescriptor module, String name) {
        return module.requires().stream()
                .filter(requires -> requires.modifiers().contains(Requires.Modifier.TRANSITIVE))
                .anyMatch(requires -> requires.name().equals(name)
                        || byPackage.values().stream()
                                .filter(other -> other.name().equals(requires.name()))
                                .findFirst()
                                .filter(other -> isRequiredTransitively(other, name))
                                .isPresent());
    }

    /** A vendor without Maven: the contract, and the module for providers, are all that a provider needs to compile. */
    @Test
    void aProviderCompilesAgainstTheContractAndProviderSupportAlone(@TempDir Path folder) throws IOException {
        final String path = ReactorModule.ROOT.resolve("spi/target/classes")
                + System.getProperty("path.separator")
                + ReactorModule.ROOT.resolve("modules/provider-support/target/classes");
        SampleJar.make("buddy", true, UnaryOperator.identity(), path, folder, folder.resolve("buddy.jar"));
    }
}
