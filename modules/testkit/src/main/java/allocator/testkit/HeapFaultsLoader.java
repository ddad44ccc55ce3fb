package allocator.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URL;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Loads classes of this project with a call of {@link HeapFaults#allocating} before each of their allocations. */
final class HeapFaultsLoader extends ClassLoader {
    private static final String PROJECT = "allocator.";
    private static final ClassDesc FAULTS = HeapFaults.class.describeConstable().orElseThrow();
    private static final MethodTypeDesc NOTHING = MethodTypeDesc.of(ConstantDescs.CD_void);

    /** Methods of the JDK that allocate whenever they are called, whatever their class. */
    private static final Set<String> ALLOCATING = Set.of(
            "clone",
            "computeIfAbsent",
            "copyOf",
            "copyOfRange",
            "iterator",
            "listIterator",
            "putIfAbsent",
            "stream",
            "toArray",
            "toHexString",
            "toList");

    private final List<String> exempt;

    /** Creates a loader; the classes of the jars and folders of these classes are loaded as they are. */
    HeapFaultsLoader(List<Class<?>> exempt) {
        super(HeapFaultsLoader.class.getClassLoader());
        this.exempt = exempt.stream().map(HeapFaultsLoader::home).toList();
    }

    /** Returns the address of a class without its path in the jar or folder. */
    private static String home(Class<?> type) {
        final String path = path(type.getName());
        final String address = type.getClassLoader().getResource(path).toString();
        return address.substring(0, address.length() - path.length());
    }

    private static String path(String className) {
        return className.replace('.', '/') + ".class";
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(PROJECT) || name.startsWith(HeapFaults.class.getName())) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            final Class<?> known = findLoadedClass(name);
            return known == null ? define(name) : known;
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        final URL address = getParent().getResource(path(name));
        if (address == null) {
            throw new ClassNotFoundException(name);
        }
        try (InputStream in = address.openStream()) {
            final byte[] bytes = in.readAllBytes();
            final boolean isExempt = exempt.stream().anyMatch(address.toString()::startsWith);
            final byte[] defined = isExempt ? bytes : withFaults(bytes);
            return defineClass(name, defined, 0, defined.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] withFaults(byte[] bytes) {
        final ClassFile file = ClassFile.of(
                ClassFile.ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(getParent())
                        .orElse(ClassHierarchyResolver.defaultResolver())));
        final Predicate<MethodModel> isNoInitializer =
                method -> !method.methodName().equalsString(ConstantDescs.CLASS_INIT_NAME);
        return file.transformClass(
                file.parse(bytes), ClassTransform.transformingMethodBodies(isNoInitializer, (code, element) -> {
                    if (allocates(element)) {
                        code.invokestatic(FAULTS, "allocating", NOTHING);
                    }
                    code.with(element);
                }));
    }

    private static boolean allocates(CodeElement element) {
        return switch (element) {
            case NewObjectInstruction _, NewPrimitiveArrayInstruction _ -> true;
            case NewReferenceArrayInstruction _, NewMultiArrayInstruction _ -> true;
            case InvokeDynamicInstruction dynamic -> dynamic.typeSymbol().parameterCount() > 0;
            case InvokeInstruction call -> allocates(call);
            default -> false;
        };
    }

    /** Returns whether a call of the JDK surely allocates. Not so an addition to a list, which may have room. */
    private static boolean allocates(InvokeInstruction call) {
        final String owner = call.owner().asInternalName();
        if (!owner.startsWith("java/")) {
            return false;
        }
        final String name = call.name().stringValue();
        final boolean hasArguments = call.typeSymbol().parameterCount() > 0;
        return ALLOCATING.contains(name)
                || (name.equals("of") && hasArguments)
                || (name.equals("valueOf") && !owner.startsWith("java/util/concurrent"))
                || (name.equals("add") && !owner.endsWith("List"))
                || (name.equals("put") && owner.endsWith("Map") && !owner.contains("Identity"));
    }
}
