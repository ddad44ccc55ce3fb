package allocator.conformance.exam;

import allocator.provider.support.BlockLedger;
import allocator.spi.EpFactory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;
import org.jspecify.annotations.NullMarked;

/** The classes of a provider, compiled in memory: loaded by a class loader of their own, or written to a jar. */
final class CompiledProvider {
    private static final String CLASS_PATH = Stream.of(EpFactory.class, BlockLedger.class, NullMarked.class)
            .map(CompiledProvider::place)
            .collect(Collectors.joining(System.getProperty("path.separator")));

    private final String factory;
    private final Map<String, byte[]> classes;

    private CompiledProvider(String factory, Map<String, byte[]> classes) {
        this.factory = factory;
        this.classes = classes;
    }

    /**
     * Compiles sources.
     *
     * @param factory the name of the factory's class
     * @param sources texts by the names of their files
     * @throws IllegalArgumentException if they do not compile
     */
    static CompiledProvider of(String factory, Map<String, String> sources) {
        final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        final DiagnosticCollector<JavaFileObject> findings = new DiagnosticCollector<>();
        final Map<String, byte[]> classes = new TreeMap<>();
        final List<Source> units = new ArrayList<>();
        sources.forEach((file, text) -> units.add(new Source(file, text)));
        try (JavaFileManager files =
                new Memory(compiler.getStandardFileManager(findings, Locale.ROOT, StandardCharsets.UTF_8), classes)) {
            final boolean isCompiled = compiler.getTask(
                            null,
                            files,
                            findings,
                            List.of("-proc:none", "-nowarn", "-g", "-cp", CLASS_PATH),
                            null,
                            units)
                    .call();
            if (!isCompiled) {
                throw new IllegalArgumentException(findings.getDiagnostics().stream()
                        .filter(finding -> finding.getKind() == Diagnostic.Kind.ERROR)
                        .map(Object::toString)
                        .collect(Collectors.joining("\n")));
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return new CompiledProvider(factory, classes);
    }

    private static String place(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString();
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Loads the classes, and returns what makes a new factory on each call. */
    Supplier<EpFactory> load() {
        final ClassLoader loader = new Loader(classes);
        return () -> {
            try {
                return (EpFactory)
                        loader.loadClass(factory).getDeclaredConstructor().newInstance();
            } catch (java.lang.reflect.InvocationTargetException e) {
                if (e.getCause() instanceof RuntimeException unchecked) {
                    throw unchecked;
                }
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
                throw new IllegalStateException(e);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    /** Writes a jar that declares the service, as a vendor's. */
    void write(Path jar) throws IOException {
        final Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes()
                .put(new Attributes.Name("Automatic-Module-Name"), factory.substring(0, factory.lastIndexOf('.')));
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            for (final Map.Entry<String, byte[]> type : classes.entrySet()) {
                out.putNextEntry(new JarEntry(type.getKey().replace('.', '/') + ".class"));
                out.write(type.getValue());
            }
            out.putNextEntry(new JarEntry("META-INF/services/" + EpFactory.class.getName()));
            out.write(factory.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** A source in memory. */
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String file, String text) {
            super(URI.create("string:///" + file), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Receives the classes. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, byte[]> classes;

        Memory(JavaFileManager files, Map<String, byte[]> classes) {
            super(files);
            this.classes = classes;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream() {
                        @Override
                        public void close() {
                            classes.put(name, toByteArray());
                        }
                    };
                }
            };
        }

        @Override
        public boolean hasLocation(Location location) {
            return location != StandardLocation.SOURCE_PATH && super.hasLocation(location);
        }
    }

    /** Defines the classes. */
    private static final class Loader extends ClassLoader {
        private final Map<String, byte[]> classes;

        Loader(Map<String, byte[]> classes) {
            super(Loader.class.getClassLoader());
            this.classes = classes;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            final byte[] bytes = classes.get(name);
            if (bytes == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}
