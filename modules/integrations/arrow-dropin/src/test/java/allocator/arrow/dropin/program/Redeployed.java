package allocator.arrow.dropin.program;

import allocator.arrow.ProcessMemory;
import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/**
 * Runs an application several times, each in a class loader of its own, and requires that nothing of them is left.
 * Arguments: the class path of the application; whether it closes the memory at its end.
 */
public final class Redeployed {
    private static final int TIMES = 6;
    private static final int MIB = 1 << 20;

    private Redeployed() {}

    /** The application: 64 MiB of buffers, written and closed. */
    public static final class Application implements Runnable {
        /** Arrow and its memory are those of the class loader of this class. */
        public Application() {}

        @Override
        public void run() {
            try (BufferAllocator root = new RootAllocator()) {
                final List<ArrowBuf> buffers = new ArrayList<>();
                for (int i = 0; i < 64; i++) {
                    final ArrowBuf buffer = root.buffer(MIB);
                    buffer.setZero(0, MIB);
                    buffers.add(buffer);
                }
                buffers.forEach(ArrowBuf::close);
            }
            if (Boolean.getBoolean("closes")) {
                ProcessMemory.close();
            }
        }
    }

    /** Runs it. */
    public static void main(String[] args) throws Exception {
        final List<URL> urls = new ArrayList<>();
        for (final String entry : args[0].split(File.pathSeparator, -1)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        System.setProperty("closes", args[1]);
        final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < TIMES; i++) {
            loaders.add(deploy(urls.toArray(new URL[0])));
        }
        final long end = System.nanoTime() + 30_000_000_000L;
        while (left(loaders) > 0 && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(100);
        }
        final List<String> threads = Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("allocator"))
                .toList();
        final long resident = residentMib();
        if (left(loaders) > 0 || !threads.isEmpty() || resident > 300) {
            throw new AssertionError(
                    left(loaders) + " class loaders left, threads " + threads + ", " + resident + " MiB resident");
        }
    }

    private static long left(List<WeakReference<ClassLoader>> loaders) {
        return loaders.stream().filter(loader -> loader.get() != null).count();
    }

    private static WeakReference<ClassLoader> deploy(URL[] urls) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            ((Runnable) loader.loadClass(Application.class.getName())
                            .getConstructor()
                            .newInstance())
                    .run();
            return new WeakReference<>(loader);
        }
    }

    private static long residentMib() throws Exception {
        final Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return 0;
        }
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("RssAnon:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024)
                .sum();
    }
}
