package com.example.loaders;

import java.io.File;
import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/**
 * The day's work in class loaders, as servers have applications. Arguments: the jars of the runtime, which a parent
 * loader can have, all others, and those of ONNX Runtime, each a class path.
 */
public final class Loaders {
    private static final int TIMES = 3;

    private Loaders() {}

    /** Runs it. */
    public static void main(String[] args) throws Exception {
        final URL[] runtime = urls(args[0]);
        final URL[] others = urls(args[1]);
        final URL[] all = join(runtime, others);

        for (int time = 1; time <= TIMES; time++) {
            final String way = "class loader " + time + " of " + TIMES;
            final WeakReference<ClassLoader> loader = redeploy(way, all);
            System.out.println("cell|" + way + "|the closed class loader is collected|"
                    + (isCollected(loader) ? "ok" : "FAILED|it is not"));
        }

        final String pool = "pool thread of another class loader";
        try (URLClassLoader application =
                new URLClassLoader(join(all, urls(args[2])), ClassLoader.getPlatformClassLoader())) {
            CompletableFuture.runAsync(() -> {
                        if (Thread.currentThread().getContextClassLoader() == application) {
                            throw new IllegalStateException("the pool's thread has the application's class loader");
                        }
                        run(application, "com.example.day.Day", pool);
                    })
                    .join();
            run(application, "com.example.bridge.Bridge", pool);
        }

        try (URLClassLoader parent = new URLClassLoader(runtime, ClassLoader.getPlatformClassLoader());
                URLClassLoader application = new URLClassLoader(others, parent)) {
            Thread.currentThread().setContextClassLoader(application);
            run(application, "com.example.day.Day", "runtime in a parent loader", "register=yes");
            Thread.currentThread().setContextClassLoader(ClassLoader.getSystemClassLoader());
        }
    }

    private static WeakReference<ClassLoader> redeploy(String way, URL[] jars) throws Exception {
        try (URLClassLoader application = new URLClassLoader(jars, ClassLoader.getPlatformClassLoader())) {
            Thread.currentThread().setContextClassLoader(application);
            run(application, "com.example.day.Day", way);
            return new WeakReference<>(application);
        } finally {
            Thread.currentThread().setContextClassLoader(ClassLoader.getSystemClassLoader());
        }
    }

    private static void run(ClassLoader application, String program, String... arguments) {
        try {
            application
                    .loadClass(program)
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isCollected(WeakReference<ClassLoader> loader) throws InterruptedException {
        for (int i = 0; i < 50 && loader.get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        return loader.get() == null;
    }

    private static URL[] join(URL[] first, URL[] second) {
        final URL[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }

    private static URL[] urls(String path) throws MalformedURLException {
        final String[] jars = path.split(File.pathSeparator);
        final URL[] urls = new URL[jars.length];
        for (int i = 0; i < jars.length; i++) {
            urls[i] = Path.of(jars[i]).toUri().toURL();
        }
        return urls;
    }
}
