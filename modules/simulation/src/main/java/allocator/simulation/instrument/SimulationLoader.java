package allocator.simulation.instrument;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Loads the classes of the product a second time, {@linkplain Instrumenter instrumented}, and the simulated programs
 * that use them. The scheduler is shared with the loader's parent.
 */
public final class SimulationLoader extends ClassLoader {
    private static final String SHARED = "allocator.simulation.schedule.";

    /** What is not instrumented: the programs, and the device whose calls are one step each. */
    private static final List<String> OUTSIDE = List.of("allocator.simulation.", "allocator.cuda.simulated.");

    static {
        registerAsParallelCapable();
    }

    private final Map<String, byte[]> replacements = new ConcurrentHashMap<>();
    private final Instrumenter instrumenter;

    /** Creates a loader whose parent has the classes of the product as resources. */
    public SimulationLoader(ClassLoader parent) {
        super("simulation", parent);
        instrumenter = new Instrumenter(this::bytes);
    }

    /** Replaces a class of this binary name, for instance by one with a fault. */
    public void replace(String name, byte[] bytes) {
        replacements.put(name, bytes.clone());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("allocator.") || name.startsWith(SHARED)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            final Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name);
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        final byte[] bytes = bytes(name.replace('.', '/'));
        if (bytes == null) {
            throw new ClassNotFoundException(name);
        }
        final byte[] defined = OUTSIDE.stream().anyMatch(name::startsWith) ? bytes : instrumenter.instrument(bytes);
        return defineClass(name, defined, 0, defined.length);
    }

    /** Returns the class file of a class by its internal name; {@code null} if there is none. */
    private byte[] bytes(String internalName) {
        final byte[] replacement = replacements.get(internalName.replace('/', '.'));
        if (replacement != null) {
            return replacement;
        }
        try (InputStream in = getParent().getResourceAsStream(internalName + ".class")) {
            return in == null ? null : in.readAllBytes();
        } catch (IOException e) {
            return null;
        }
    }
}
