package allocator.conformance.rules;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.contract.TestName;
import allocator.conformance.program.ProgramFailure;
import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.CleanupFindings;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.HangError;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Watchdog;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.MemoryInfo;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Runs a {@link ConformanceTest} once for each memory, with a time limit, and prefixes the message of a failure with
 * rule and memory.
 */
final class SubjectExtension implements TestTemplateInvocationContextProvider {
    /** The display name of a run on no memory in particular. */
    static final String PROVIDER = "provider";

    private static final int LONGEST_NAME = 500;

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return context.getRequiredTestMethod().isAnnotationPresent(ConformanceTest.class);
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        final ProviderFixture fixture = ProviderFixture.of(context);
        final Method method = context.getRequiredTestMethod();
        final ConformanceSettings settings =
                fixture.settings(ConformanceSettings.from(context::getConfigurationParameter));
        if (method.getAnnotation(ConformanceTest.class).value() == Scope.FACTORY) {
            return Stream.of(new Run(new Subject(fixture, settings, null), PROVIDER, null));
        }
        final DeviceDiscovery discovery;
        final List<MemoryInfo> memories;
        try {
            discovery = fixture.discovery(settings);
            memories = fixture.memories(settings);
        } catch (Throwable failure) {
            // The tests of F-03 report it, which discover for themselves.
            return Stream.of(new Run(
                    new Subject(fixture, settings, null), PROVIDER, "discovery failed: " + Expect.describe(failure)));
        }
        if (memories.isEmpty()) {
            final String why = discovery.devices().isEmpty()
                    ? "no device: " + Expect.cut(String.join("; ", discovery.notes()), LONGEST_NAME)
                    : "no memory on "
                            + discovery.devices().stream()
                                    .map(EpDevice::toString)
                                    .toList();
            return Stream.of(new Run(new Subject(fixture, settings, null), PROVIDER, why));
        }
        final List<TestTemplateInvocationContext> runs = new ArrayList<>();
        memories.forEach(memory -> runs.add(new Run(
                new Subject(fixture, settings, memory),
                nameOf(memory),
                fixture.obstacle(memory, settings).orElse(null))));
        return runs.stream();
    }

    /** Returns the text of a memory; a long one is cut, and ends with a number that tells it from others. */
    private static String nameOf(MemoryInfo memory) {
        final String text = memory.toString();
        return text.length() <= LONGEST_NAME
                ? text
                : Expect.cut(text, LONGEST_NAME) + Integer.toHexString(text.hashCode());
    }

    /**
     * One run of a test.
     *
     * @param subject the subject of the test
     * @param name the name of the memory
     * @param obstacle why the test is skipped, or {@code null}
     */
    private record Run(
            Subject subject, String name, @Nullable String obstacle)
            implements TestTemplateInvocationContext, InvocationInterceptor, ParameterResolver {
        @Override
        public String getDisplayName(int index) {
            return name;
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == Subject.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return subject;
        }

        @Override
        public void interceptTestTemplateMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> call, ExtensionContext context)
                throws Throwable {
            final Method method = context.getRequiredTestMethod();
            final TestName test = TestName.of(method);
            try {
                if (obstacle != null) {
                    invocation.skip();
                    throw Expect.skip("%s", obstacle);
                }
                run(method.getName(), invocation);
            } catch (TestAbortedException skipped) {
                throw skipped;
            } catch (HangError hang) {
                throw explain(test, "the provider hangs: the test " + hang.getMessage(), hang);
            } catch (AssertionFailedError failure) {
                throw explain(test, String.valueOf(failure.getMessage()), failure);
            } catch (Throwable failure) {
                throw explain(test, "unexpected " + Expect.describe(failure), failure);
            }
        }

        private void run(String test, Invocation<Void> invocation) throws Throwable {
            boolean passed = false;
            try {
                Watchdog.call(test, subject.fixture().timeLimit(subject.settings()), () -> {
                    subject.open();
                    try {
                        return invocation.proceed();
                    } catch (Exception | Error failure) {
                        throw failure;
                    } catch (Throwable failure) {
                        throw new IllegalStateException(failure);
                    }
                });
                passed = true;
            } catch (HangError hang) {
                subject.fixture().hung();
                subject.abandon();
                throw hang;
            } finally {
                close(test, passed);
            }
        }

        /** Cleans up; the last chapter reports the faults found after a test that passed. */
        private void close(String test, boolean passed) throws Throwable {
            final ProviderFixture fixture = subject.fixture();
            final String which = test + " on " + name;
            List<CleanupFindings.Finding> findings;
            try {
                findings = Watchdog.call(
                        "close after " + test, fixture.cleanupLimit(subject.settings()), () -> subject.close(which));
            } catch (HangError hang) {
                fixture.cleanupHung();
                subject.abandon();
                findings = List.of(subject.hangOfClose(which, String.valueOf(hang.getMessage())));
            }
            if (passed) {
                fixture.cleanup().testDone();
                findings.forEach(fixture.cleanup()::add);
            }
        }

        private AssertionError explain(TestName test, String message, Throwable cause) {
            final String preamble = test.rule() + " is broken on " + name + ": ";
            return cause instanceof ProgramFailure program
                    ? program.after(preamble)
                    : new AssertionFailedError(preamble + message + Expect.origin(cause), Expect.sound(cause));
        }
    }
}
