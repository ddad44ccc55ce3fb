package allocator.arrow.dropin.program;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/**
 * Arrow and its memory are a server's, and an application below it brings the provider. Argument: the class path of the
 * provider.
 */
public final class ProviderBelow {
    private ProviderBelow() {}

    /** Runs it. */
    public static void main(String[] args) throws Exception {
        final List<URL> urls = new ArrayList<>();
        for (final String entry : args[0].split(File.pathSeparator, -1)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        try (BufferAllocator root = new RootAllocator();
                URLClassLoader application = new URLClassLoader(urls.toArray(new URL[0]))) {
            try {
                root.buffer(64).close();
                throw new AssertionError("there is no provider");
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage());
            }
            Thread.currentThread().setContextClassLoader(application);
            root.buffer(64).close();
            System.out.println("served below");
        }
    }
}
