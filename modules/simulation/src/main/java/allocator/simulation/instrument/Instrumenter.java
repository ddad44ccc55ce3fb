package allocator.simulation.instrument;

import allocator.simulation.schedule.OrderedMap;
import allocator.simulation.schedule.Points;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.FieldModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Rewrites classes so that a scheduler controls their threads: it puts a call of {@link Points} before every access to
 * a field that is not final, every call and every creation of an object, and in place of every lock.
 */
final class Instrumenter {
    private static final ClassDesc POINTS = ClassDesc.of(Points.class.getName());
    private static final ClassDesc LOCK = ClassDesc.of("java.util.concurrent.locks.Lock");
    private static final MethodTypeDesc PLAIN = MethodTypeDesc.of(ConstantDescs.CD_void);
    private static final MethodTypeDesc OF_OBJECT = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_Object);
    /** What stands in place of collections whose order is that of hash codes, which are others in each run. */
    private static final Map<String, ClassDesc> ORDERED = Map.of(
            "java/util/IdentityHashMap", ClassDesc.of(OrderedMap.class.getName()),
            "java/util/HashMap", ClassDesc.of("java.util.LinkedHashMap"),
            "java/util/HashSet", ClassDesc.of("java.util.LinkedHashSet"));

    private static final MethodTypeDesc OF_THREAD =
            MethodTypeDesc.of(ConstantDescs.CD_long, ClassDesc.of("java.lang.Thread"));
    private static final MethodTypeDesc CLOCK = MethodTypeDesc.of(ClassDesc.of("java.util.function.LongSupplier"));
    private static final Set<String> CREATORS =
            Set.of("copyOf", "copyOfRange", "put", "add", "putIfAbsent", "computeIfAbsent", "of", "toList", "valueOf");
    /** Divides lanes after so many contentions: too many for a short program, so that one is enough. */
    private static final String LANE_CHOICE = "allocator/arena/LaneChoice";

    private static final Integer CONTENTIONS = 16;

    private final Function<String, byte[]> classFiles;
    private final Map<String, Set<String>> finalFields = new ConcurrentHashMap<>();

    /** Creates an instrumenter that finds class files by internal name. */
    Instrumenter(Function<String, byte[]> classFiles) {
        this.classFiles = classFiles;
    }

    byte[] instrument(byte[] bytes) {
        final ClassFile classFile = ClassFile.of();
        final ClassModel model = classFile.parse(bytes);
        return classFile.transformClass(model, (builder, element) -> transform(model, builder, element));
    }

    private void transform(ClassModel type, ClassBuilder builder, ClassElement element) {
        if (!(element instanceof MethodModel method) || method.code().isEmpty()) {
            builder.with(element);
        } else if (method.methodName().equalsString(ConstantDescs.CLASS_INIT_NAME)) {
            builder.transformMethod(method, MethodTransform.transformingCode(new Initialization()));
        } else if (method.flags().has(AccessFlag.SYNCHRONIZED)) {
            transformSynchronized(type, builder, method);
        } else {
            builder.transformMethod(method, MethodTransform.transformingCode(transformOf(method)));
        }
    }

    /** The initialization of a class, which happens once for all programs of a JVM, and so is no part of any. */
    private static final class Initialization implements CodeTransform {
        @Override
        public void atStart(CodeBuilder builder) {
            builder.invokestatic(POINTS, "beginInitialization", PLAIN);
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            if (element instanceof ReturnInstruction) {
                builder.invokestatic(POINTS, "endInitialization", PLAIN);
            }
            builder.with(element);
        }
    }

    /** Moves the body into a method of its own, which is called between the start and the end of a monitor. */
    private void transformSynchronized(ClassModel type, ClassBuilder builder, MethodModel method) {
        final boolean isStatic = method.flags().has(AccessFlag.STATIC);
        final int flags = method.flags().flagsMask() & ~ClassFile.ACC_SYNCHRONIZED;
        final String body = method.methodName().stringValue() + "$body";
        final MethodTypeDesc descriptor = method.methodTypeSymbol();
        final ClassDesc owner = type.thisClass().asSymbol();
        builder.withMethod(
                body,
                descriptor,
                (isStatic ? ClassFile.ACC_STATIC : 0) | ClassFile.ACC_PRIVATE | ClassFile.ACC_SYNTHETIC,
                copy -> copy.transformCode(method.code().orElseThrow(), transformOf(method)));
        builder.withMethodBody(method.methodName(), method.methodType(), flags, code -> {
            final Runnable loadMonitor = () -> {
                if (isStatic) {
                    code.loadConstant(owner);
                } else {
                    code.aload(0);
                }
            };
            loadMonitor.run();
            code.invokestatic(POINTS, "enter", OF_OBJECT);
            final TypeKind result = TypeKind.from(descriptor.returnType());
            final int slot = result == TypeKind.VOID ? -1 : code.allocateLocal(result);
            code.trying(
                    inside -> {
                        int parameter = 0;
                        if (!isStatic) {
                            inside.aload(parameter++);
                        }
                        for (final ClassDesc each : descriptor.parameterList()) {
                            final TypeKind kind = TypeKind.from(each);
                            inside.loadLocal(kind, parameter);
                            parameter += kind.slotSize();
                        }
                        if (isStatic) {
                            inside.invokestatic(owner, body, descriptor);
                        } else {
                            inside.invokespecial(owner, body, descriptor);
                        }
                        if (slot >= 0) {
                            inside.storeLocal(result, slot);
                        }
                    },
                    handlers -> handlers.catchingAll(handler -> {
                        if (isStatic) {
                            handler.loadConstant(owner);
                        } else {
                            handler.aload(0);
                        }
                        handler.invokestatic(POINTS, "exit", OF_OBJECT).athrow();
                    }));
            loadMonitor.run();
            code.invokestatic(POINTS, "exit", OF_OBJECT);
            if (slot >= 0) {
                code.loadLocal(result, slot);
            }
            code.return_(result);
        });
    }

    private CodeTransform transformOf(MethodModel method) {
        final boolean isConstructor = method.methodName().equalsString(ConstantDescs.INIT_NAME);
        final boolean hasThreshold = method.parent()
                .filter(type -> type.thisClass().asInternalName().equals(LANE_CHOICE))
                .isPresent();
        return (builder, element) -> {
            if (hasThreshold
                    && element instanceof ConstantInstruction constant
                    && CONTENTIONS.equals(constant.constantValue())) {
                builder.loadConstant(1);
            } else {
                transform(builder, element, isConstructor);
            }
        };
    }

    private void transform(CodeBuilder builder, CodeElement element, boolean isConstructor) {
        switch (element) {
            case MonitorInstruction monitor -> {
                builder.invokestatic(POINTS, monitor.opcode() == Opcode.MONITORENTER ? "enter" : "exit", OF_OBJECT);
                return;
            }
            case FieldInstruction field -> {
                if (!isConstructor && isChangeable(field)) {
                    builder.invokestatic(POINTS, "access", PLAIN);
                }
            }
            case InvokeInstruction call -> {
                if (isReplaced(builder, call)) {
                    return;
                }
                announce(builder, call);
            }
            case InvokeDynamicInstruction dynamic -> {
                builder.invokestatic(POINTS, "allocation", PLAIN);
                if (isClock(dynamic)) {
                    builder.invokestatic(POINTS, "clock", CLOCK);
                    return;
                }
            }
            case NewObjectInstruction creation -> {
                builder.invokestatic(POINTS, "allocation", PLAIN);
                final ClassDesc ordered = ORDERED.get(creation.className().asInternalName());
                if (ordered != null) {
                    builder.new_(ordered);
                    return;
                }
            }
            case NewPrimitiveArrayInstruction _, NewReferenceArrayInstruction _, NewMultiArrayInstruction _ ->
                builder.invokestatic(POINTS, "allocation", PLAIN);
            default -> {}
        }
        builder.with(element);
    }

    /** Returns whether an instruction makes {@code System::nanoTime}. */
    private static boolean isClock(InvokeDynamicInstruction dynamic) {
        return dynamic.bootstrapArgs().stream()
                .anyMatch(argument -> argument instanceof DirectMethodHandleDesc handle
                        && handle.methodName().equals("nanoTime"));
    }

    private static boolean isReplaced(CodeBuilder builder, InvokeInstruction call) {
        final String owner = call.owner().asInternalName();
        final String name = call.name().stringValue();
        if (owner.equals("java/util/concurrent/locks/ReentrantLock") && name.equals("lock")) {
            builder.invokestatic(POINTS, "lock", MethodTypeDesc.of(ConstantDescs.CD_void, LOCK));
            return true;
        }
        if (ORDERED.containsKey(owner) && name.equals(ConstantDescs.INIT_NAME)) {
            announce(builder, call);
            builder.invokespecial(ORDERED.get(owner), name, call.typeSymbol());
            return true;
        }
        if (owner.equals("java/util/concurrent/ConcurrentHashMap") && name.equals("newKeySet")) {
            builder.invokestatic(POINTS, name, MethodTypeDesc.of(ConstantDescs.CD_Set));
            return true;
        }
        if (call.opcode() == Opcode.INVOKEVIRTUAL
                && call.typeSymbol().equals(PLAIN)
                && (name.equals("wait") || name.equals("notifyAll"))) {
            builder.invokestatic(POINTS, name.equals("wait") ? "await" : name, OF_OBJECT);
            return true;
        }
        if (owner.equals("java/lang/Thread") && name.equals("threadId")) {
            builder.invokestatic(POINTS, name, OF_THREAD);
            return true;
        }
        if ((owner.equals("java/lang/Thread") && name.equals("holdsLock"))
                || (owner.equals("java/lang/System") && name.equals("nanoTime"))) {
            builder.invokestatic(POINTS, name, call.typeSymbol());
            return true;
        }
        if ((owner.equals("java/lang/Thread") && (name.equals("onSpinWait") || name.equals("yield")))
                || (owner.equals("java/util/concurrent/locks/LockSupport") && name.equals("parkNanos"))) {
            builder.invokestatic(POINTS, "pause", call.typeSymbol());
            return true;
        }
        return false;
    }

    private static void announce(CodeBuilder builder, InvokeInstruction call) {
        final String owner = call.owner().asInternalName();
        if (owner.startsWith("java/util/concurrent/atomic/") || owner.equals("java/lang/invoke/VarHandle")) {
            builder.invokestatic(POINTS, "access", PLAIN);
        }
        if (creates(owner, call.name().stringValue())) {
            builder.invokestatic(POINTS, "allocation", PLAIN);
        }
    }

    /** Returns whether a method of the JDK creates objects; a list that is an {@code ArrayList} may have room. */
    private static boolean creates(String owner, String name) {
        return (owner.startsWith("java/util/") || owner.equals("java/lang/Long"))
                && !owner.equals("java/util/ArrayList")
                && !owner.equals("java/util/IdentityHashMap")
                && !owner.startsWith("java/util/concurrent/atomic/")
                && CREATORS.contains(name);
    }

    private boolean isChangeable(FieldInstruction field) {
        final String owner = field.owner().asInternalName();
        return owner.startsWith("allocator/")
                && !finalFields
                        .computeIfAbsent(owner, this::readFinalFields)
                        .contains(field.name().stringValue());
    }

    private Set<String> readFinalFields(String owner) {
        final byte[] bytes = classFiles.apply(owner);
        final Set<String> names = new HashSet<>();
        if (bytes != null) {
            for (final FieldModel field : ClassFile.of().parse(bytes).fields()) {
                if (field.flags().has(AccessFlag.FINAL)) {
                    names.add(field.fieldName().stringValue());
                }
            }
        }
        return names;
    }
}
