package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Providers of class loaders, as on a class path. */
class LoadedProviderTest {
    @TempDir
    private Path folder;

    private final List<String> problems = new ArrayList<>();

    private List<LoadedProvider> found(ClassLoader... loaders) {
        return LoadedProvider.of(new LinkedHashSet<>(List.of(loaders)), problems::add);
    }

    @Test
    void aProviderBesideTheKitIsFoundByAThreadWithAnotherClassLoader() throws IOException {
        final ClassLoader ofPool = ClassLoader.getPlatformClassLoader();
        assertThat(found(ofPool, new Serving(Named.class, folder)))
                .extracting(LoadedProvider::name)
                .containsExactly("named");
        assertThat(problems).isEmpty();
    }

    @Test
    void aProviderThatTwoClassLoadersFindIsListedOnce() throws IOException {
        final ClassLoader application = new Serving(Named.class, folder);
        assertThat(found(application, new ClassLoader(application) {})).hasSize(1);
    }

    @Test
    void theClassLoaderOfTheThreadIsSearchedAndThatOfTheKit() {
        final ClassLoader ofThread = Thread.currentThread().getContextClassLoader();
        final ClassLoader ofPool = ClassLoader.getPlatformClassLoader();
        Thread.currentThread().setContextClassLoader(ofPool);
        try {
            assertThat(LoadedProvider.loaders()).isEqualTo(Set.of(ofPool, LoadedProvider.class.getClassLoader()));
        } finally {
            Thread.currentThread().setContextClassLoader(ofThread);
        }
    }

    @Test
    void aProviderWithoutANameIsNamedByItsClass() throws IOException {
        assertThat(found(new Serving(Nameless.class, folder)))
                .extracting(LoadedProvider::name)
                .containsExactly(Nameless.class.getName());
        assertThat(problems)
                .containsExactly("the name of provider " + Nameless.class.getName()
                        + " cannot be read: IllegalStateException (name() returned null)");
    }

    /** A provider without devices. */
    public static class Named implements EpFactory {
        /** Made by a service loader. */
        public Named() {}

        @Override
        public String name() {
            return "named";
        }

        @Override
        public String vendor() {
            return "tests";
        }

        @Override
        public String version() {
            return "1";
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    /** One without a name. */
    public static final class Nameless extends Named {
        /** Made by a service loader. */
        public Nameless() {}

        @Override
        @SuppressWarnings("NullAway") // as a provider may that is not checked for it
        public String name() {
            return null;
        }
    }

    /** Defines the providers again, as a file of services cannot name classes of a module. */
    private static final class Serving extends ClassLoader {
        private final URL services;

        Serving(Class<?> provider, Path folder) throws IOException {
            super(LoadedProviderTest.class.getClassLoader());
            services = Files.writeString(folder.resolve("services"), provider.getName())
                    .toUri()
                    .toURL();
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(Named.class.getName()) && !name.equals(Nameless.class.getName())) {
                return super.loadClass(name, resolve);
            }
            final Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            final String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
            try (InputStream in = Objects.requireNonNull(LoadedProviderTest.class.getResourceAsStream(file))) {
                final byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public Enumeration<URL> getResources(String name) throws IOException {
            return name.equals("META-INF/services/" + EpFactory.class.getName())
                    ? Collections.enumeration(List.of(services))
                    : super.getResources(name);
        }
    }
}
