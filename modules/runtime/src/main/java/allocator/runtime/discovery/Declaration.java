package allocator.runtime.discovery;

import allocator.spi.EpFactory;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.ServiceConfigurationError;
import org.jspecify.annotations.Nullable;

/**
 * A {@code provides} of a module: the module, and the class that makes the factory. The class is loaded, but no code of
 * it runs before {@link #construct}.
 *
 * <p>The rules are those of {@link java.util.ServiceLoader}: in a module with a descriptor of its own, a public static
 * method {@code provider()} of the class makes the factory, of whatever type the method declares; otherwise the
 * constructor does. So the module that provides a factory need not be the module of the factory's class.
 */
record Declaration(
        Module module, Class<?> declared, @Nullable Method method) {
    /** Returns the names of the classes with which a module provides factories. */
    static List<String> classNames(ModuleDescriptor descriptor) {
        return descriptor.provides().stream()
                .filter(provides -> provides.service().equals(EpFactory.class.getName()))
                .map(ModuleDescriptor.Provides::providers)
                .flatMap(List::stream)
                .toList();
    }

    /**
     * Loads a class that a module names as a provider.
     *
     * @throws ServiceConfigurationError if it is not the class of a provider
     * @throws LinkageError if the class or one that it needs cannot be loaded
     */
    static Declaration load(Module module, String className) {
        final Class<?> declared = Class.forName(module, className);
        if (declared == null) {
            throw new ServiceConfigurationError("Provider " + className + " not found");
        }
        if (!Modifier.isPublic(declared.getModifiers())) {
            throw new ServiceConfigurationError(declared + " is not public");
        }
        final Method method = module.getDescriptor().isAutomatic() ? null : providerMethod(declared);
        final Class<?> type = method == null ? declared : method.getReturnType();
        if (!EpFactory.class.isAssignableFrom(type)) {
            throw new ServiceConfigurationError(type + " is not a subtype of " + EpFactory.class.getName());
        }
        return new Declaration(module, declared, method);
    }

    private static @Nullable Method providerMethod(Class<?> declared) {
        Method found = null;
        for (final Method method : declared.getDeclaredMethods()) {
            if (method.getName().equals("provider")
                    && method.getParameterCount() == 0
                    && Modifier.isStatic(method.getModifiers())
                    && Modifier.isPublic(method.getModifiers())) {
                if (found != null) {
                    throw new ServiceConfigurationError(
                            "Two public static provider() methods in " + declared.getName());
                }
                found = method;
            }
        }
        return found;
    }

    String className() {
        return declared.getName();
    }

    String packageName() {
        return declared.getPackageName();
    }

    /** Returns the type that a service loader shows of this declaration. */
    Class<?> type() {
        return method == null ? declared : method.getReturnType();
    }

    /** Returns whether {@link #construct} works for code of another module. */
    boolean isAccessibleTo(Module caller) {
        return module.isOpen(packageName(), caller) || module.isExported(packageName(), caller);
    }

    /**
     * Makes the factory. The class is {@linkplain #isAccessibleTo accessible} to this module.
     *
     * @throws ServiceConfigurationError if it cannot be made, with what the provider threw as the cause
     */
    EpFactory construct() {
        try {
            final Object made = method == null ? declared.getConstructor().newInstance() : method.invoke(null);
            if (made == null) {
                throw new ServiceConfigurationError(method + " returned null");
            }
            return (EpFactory) made;
        } catch (InvocationTargetException e) {
            throw new ServiceConfigurationError(
                    method == null ? "Provider " + className() + " could not be instantiated" : method + " failed",
                    e.getCause());
        } catch (NoSuchMethodException e) {
            throw new ServiceConfigurationError(className() + " Unable to get public no-arg constructor", e);
        } catch (ReflectiveOperationException e) {
            throw new ServiceConfigurationError("Provider " + className() + " could not be instantiated", e);
        }
    }
}
