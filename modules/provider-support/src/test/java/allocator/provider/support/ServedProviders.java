package allocator.provider.support;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Providers that a service loader finds as on a class path: a class loader of their own defines their classes, since a
 * file of services cannot name classes of a module.
 */
public final class ServedProviders {
    /** The calls of all providers, in order. */
    public static final List<String> CALLS = new CopyOnWriteArrayList<>();

    /** The memory of all providers. */
    public static final MemoryInfo CPU = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    /** Called with each call of a provider; may throw. */
    private static volatile Consumer<String> hook = call -> {};

    private ServedProviders() {}

    static void reset() {
        CALLS.clear();
        hook = call -> {};
    }

    /** Lets the next call of a name fail once. */
    static void failOnce(String name, RuntimeException failure) {
        hook = call -> {
            if (call.equals(name)) {
                hook = other -> {};
                throw failure;
            }
        };
    }

    /**
     * Records a call of a provider.
     *
     * @param call its name
     */
    public static void called(String call) {
        CALLS.add(call);
        hook.accept(call);
    }

    /** A provider of one CPU. */
    public static class Red implements EpFactory {
        /** Made by a service loader. */
        public Red() {}

        @Override
        public String name() {
            return "red";
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
            return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "cpu", Map.of()))
                    .memory(CPU)
                    .build());
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return List.of(Limit.KEY, OptionKey.EXCLUSIVE);
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            options.requireValid(optionKeys());
            called("create");
            return new Nothing(info, options);
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            called("release");
        }

        @Override
        public void close() {
            called("close " + name());
        }
    }

    /** Another one. */
    public static final class Blue extends Red {
        /** Made by a service loader. */
        public Blue() {}

        @Override
        public String name() {
            return "blue";
        }
    }

    /** One without a name. */
    public static final class Nameless extends Red {
        /** Made by a service loader. */
        public Nameless() {}

        @Override
        public String name() {
            return null;
        }
    }

    /** One that cannot be made. */
    public static final class Broken extends Red {
        /** Made by a service loader. */
        public Broken() {
            throw new IllegalStateException("no hardware");
        }
    }

    /** An allocator without memory. */
    public record Nothing(MemoryInfo info, AllocatorOptions effectiveOptions) implements Allocator {
        @Override
        public long alloc(long byteSize) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void free(long address) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }
    }

    /** Returns a loader of the providers that a file of services names, a line each. */
    static ServiceLoader<EpFactory> loader(List<String> lines) {
        return load(String.join("\n", lines));
    }

    /** Returns a loader whose file of services can never be read. */
    static ServiceLoader<EpFactory> stuckLoader() {
        return load(null);
    }

    private static ServiceLoader<EpFactory> load(String services) {
        ServedProviders.class.getModule().addUses(EpFactory.class); // as a module that makes a loader declares it
        return ServiceLoader.load(EpFactory.class, new Defining(services));
    }

    /** Defines the providers again, in its unnamed module. */
    private static final class Defining extends ClassLoader {
        private static final String PREFIX = ServedProviders.class.getName() + "$";
        private static final String SERVICES = "META-INF/services/" + EpFactory.class.getName();

        /** The file of services, {@code null} if it cannot be read. */
        private final String services;

        Defining(String services) {
            super(ServedProviders.class.getClassLoader());
            this.services = services;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(PREFIX) || name.endsWith("Nothing")) {
                return super.loadClass(name, resolve);
            }
            final Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            final String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
            try (InputStream in = Objects.requireNonNull(ServedProviders.class.getResourceAsStream(file), file)) {
                final byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public Enumeration<URL> getResources(String name) throws IOException {
            if (!name.equals(SERVICES)) {
                return super.getResources(name);
            }
            if (services == null) {
                throw new IOException("no disk");
            }
            final byte[] text = services.getBytes(StandardCharsets.UTF_8);
            return Collections.enumeration(List.of(URL.of(URI.create("memory:services"), new InMemory(text))));
        }
    }

    /** A file in memory. */
    private static final class InMemory extends URLStreamHandler {
        private final byte[] text;

        InMemory(byte[] text) {
            this.text = text;
        }

        @Override
        protected URLConnection openConnection(URL url) {
            return new URLConnection(url) {
                @Override
                public void connect() {}

                @Override
                public InputStream getInputStream() {
                    return new ByteArrayInputStream(text);
                }
            };
        }
    }
}
