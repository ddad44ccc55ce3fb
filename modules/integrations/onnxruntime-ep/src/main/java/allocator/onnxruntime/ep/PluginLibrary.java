package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtEpDevice;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.ep.host.HostedDevices;
import allocator.onnxruntime.ep.host.HostedFactory;
import allocator.onnxruntime.ep.host.Uses;
import allocator.onnxruntime.ep.library.Machine;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.platform.Platform;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Providers of this project, registered with ONNX Runtime as a plug-in library of execution providers: its core lists
 * their devices, creates their allocators, streams and copies, and gives them to sessions.
 *
 * <pre>{@code
 * try (EpFactory provider = new CpuReferenceFactory();
 *         PluginLibrary library = PluginLibrary.register(environment, provider);
 *         OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
 *     options.addExecutionProvider(library.devices(), Map.of("arena.max_mem", "67108864"));
 *     try (OrtSession session = environment.createSession("model.onnx", options)) {
 *         ...
 *     }
 * }
 * }</pre>
 *
 * <p>The library is a file of a few kilobytes that is written, loaded and removed again. It is made for ONNX Runtime
 * 1.23 to 1.29 on Linux: proven on x86-64, not proven on aarch64. The Java binding lists devices from 1.24 on.
 *
 * <p>Whatever a provider throws in a callback becomes an error of ONNX Runtime; {@link #explained} adds the exception.
 */
public final class PluginLibrary implements AutoCloseable {
    private final OrtEnvironment environment;
    private final String name;
    private final List<HostedFactory> factories;
    private final Uses uses;
    private final CallbackFailures failures;
    private final Registration registration;
    private boolean isUnregistered;

    private PluginLibrary(Builder builder) {
        environment = builder.environment;
        name = builder.name();
        failures = new CallbackFailures();
        uses = new Uses();
        final Map<EpFactory, AllocatorOptions> options = builder.checkedOptions();
        final List<HostedFactory> made = new ArrayList<>();
        boolean isRegistered = false;
        try {
            options.forEach((provider, settings) -> made.add(new HostedFactory(
                    name, provider, settings, builder.runsNodes, failures.of(provider.name()), uses)));
            factories = List.copyOf(made);
            registration = Registration.of(name, factories, failures);
            isRegistered = true;
        } finally {
            made.forEach(HostedFactory::returnPrepared);
            if (!isRegistered) {
                made.forEach(HostedFactory::release);
                // The only other attempt: the caller gets no library to close.
                made.forEach(factory -> factory.returnRest(new Failures()));
            }
        }
    }

    /**
     * Registers providers under their names.
     *
     * @param environment the environment of this process
     * @param providers one to four providers, which the caller closes after the library
     * @return the library, to be closed by the caller after its sessions
     * @throws IllegalArgumentException as {@link Builder#register}
     * @throws UnsupportedOperationException as {@link Builder#register}
     * @throws OnnxRuntimeException as {@link Builder#register}
     */
    public static PluginLibrary register(OrtEnvironment environment, EpFactory... providers) {
        final Builder builder = on(environment);
        for (final EpFactory provider : providers) {
            final Builder ignored = builder.provider(provider);
        }
        return builder.register();
    }

    /**
     * Starts a registration.
     *
     * @param environment the environment of this process
     * @return a builder
     */
    public static Builder on(OrtEnvironment environment) {
        return new Builder(environment);
    }

    /** {@return the name under which ONNX Runtime knows the library} */
    public String name() {
        return name;
    }

    /**
     * Returns the devices of the library's providers, for {@code SessionOptions.addExecutionProvider}.
     *
     * @return those of {@link OrtEnvironment#getEpDevices} that belong to these providers; not for use after the close
     * @throws OrtException if ONNX Runtime cannot list them
     * @throws IllegalStateException if this is closed
     */
    public synchronized List<OrtEpDevice> devices() throws OrtException {
        if (isUnregistered) {
            throw new IllegalStateException("the library " + name + " is closed");
        }
        return environment.getEpDevices().stream()
                .filter(device -> name.equals(device.getEpMetadata().get(HostedDevices.LIBRARY)))
                .toList();
    }

    /**
     * Explains an exception of ONNX Runtime.
     *
     * @param failure the exception that ONNX Runtime threw
     * @return the same exception; if a provider threw something, that is now the cause
     */
    public OrtException explained(OrtException failure) {
        return failures.explain(failure);
    }

    /**
     * Returns and removes a failure of a callback.
     *
     * @return the oldest that is not taken yet, of this thread if there is one; empty if there is none. Of more than 64
     *     the oldest are dropped
     */
    public Optional<CallbackFailure> takeFailure() {
        return failures.take();
    }

    /** {@return the newest failure of a callback, taken or not; empty if there was none} */
    public Optional<CallbackFailure> lastFailure() {
        return failures.last();
    }

    /** {@return how many callbacks have failed, from 0} */
    public long failures() {
        return failures.count();
    }

    /**
     * {@return how many open sessions use a provider of the library, whether or not nodes of their models do, from 0}
     */
    public int sessions() {
        return uses.sessions();
    }

    /** {@return how many blocks of the providers ONNX Runtime holds, from 0} */
    public long liveBlocks() {
        return uses.live();
    }

    /**
     * Unregisters the library. ONNX Runtime returns what its environment has of the providers; they stay open. Blocks
     * whose free has failed before are freed again first. A second call returns what the first could not return, and
     * otherwise does nothing.
     *
     * <p>If the library was unregistered through ONNX Runtime before, this only returns the rest.
     *
     * @throws IllegalStateException if sessions, streams, or memory of the providers are in use; the message says
     *     which, and nothing changes. ONNX Runtime itself does not check that, and ends the process later
     * @throws OnnxRuntimeException if ONNX Runtime fails; the library stays registered
     * @throws RuntimeException what a provider threw that did not take something back, as whatever else it throws; the
     *     library is unregistered, and another call tries again
     */
    @Override
    public synchronized void close() {
        if (!isUnregistered) {
            factories.forEach(HostedFactory::freeOwed);
            final String obstacle = uses.freeze();
            if (obstacle != null) {
                throw new IllegalStateException("the library " + name + " is in use: " + obstacle);
            }
            boolean isDone = false;
            try {
                if (!factories.stream().allMatch(HostedFactory::isReleased)) {
                    registration.unregister();
                }
                isDone = true;
            } finally {
                if (!isDone) {
                    uses.thaw();
                }
            }
            isUnregistered = true;
            registration.close();
        }
        final Failures failed = new Failures();
        factories.forEach(factory -> factory.returnRest(failed));
        failed.throwIfAny();
    }

    /** Collects the settings of a registration. Not safe for use by several threads. */
    public static final class Builder {
        private final OrtEnvironment environment;
        private final List<EpFactory> providers = new ArrayList<>();
        private final Map<String, String> options = new TreeMap<>();
        private Optional<String> name = Optional.empty();
        private boolean runsNodes;

        private Builder(OrtEnvironment environment) {
            this.environment = Objects.requireNonNull(environment, "environment");
        }

        /**
         * Adds a provider.
         *
         * @param provider the provider, which the caller closes after the library
         * @return this builder
         */
        public Builder provider(EpFactory provider) {
            providers.add(Objects.requireNonNull(provider, "provider"));
            return this;
        }

        /**
         * Sets the name of the registration.
         *
         * @param registrationName the name, unique among the libraries of the process; {@code java.allocator} and the
         *     providers' names unless set
         * @return this builder
         */
        public Builder name(String registrationName) {
            name = Optional.of(registrationName);
            return this;
        }

        /**
         * Sets an option of a provider's allocators: of those that the environment shares, and of those of sessions
         * that do not set it themselves.
         *
         * @param key the key as {@code ep_factory.<provider>.<key>}, such as
         *     {@code ep_factory.cpu-reference.arena.max_mem}
         * @param value its value
         * @return this builder
         */
        public Builder option(String key, String value) {
            options.put(key, value);
            return this;
        }

        /**
         * Makes providers of host memory run the nodes {@code Add} and {@code Mul} of floats, in plain Java, with their
         * inputs and outputs in the provider's memory. It shows a Java execution provider at work; ONNX Runtime's own
         * kernels are faster.
         *
         * @return this builder
         */
        public Builder runNodes() {
            runsNodes = true;
            return this;
        }

        private String name() {
            return name.orElseGet(() ->
                    "java.allocator:" + providers.stream().map(EpFactory::name).collect(Collectors.joining("+")));
        }

        /** The settings of each provider, in the order of the providers. */
        private Map<EpFactory, AllocatorOptions> checkedOptions() {
            if (providers.isEmpty() || providers.size() > EpStructs.MAX_FACTORIES) {
                throw new IllegalArgumentException("a library has 1 to " + EpStructs.MAX_FACTORIES + " providers, not "
                        + providers.size() + "; register several libraries");
            }
            final long names =
                    providers.stream().map(EpFactory::name).distinct().count();
            if (names < providers.size()) {
                throw new IllegalArgumentException("two providers of the library have the same name: "
                        + providers.stream().map(EpFactory::name).toList());
            }
            RegistrationOptions.requireOwners(options, providers);
            final Map<EpFactory, AllocatorOptions> checked = new LinkedHashMap<>();
            providers.forEach(provider -> checked.put(provider, RegistrationOptions.of(provider, options)));
            return checked;
        }

        /**
         * Registers the providers.
         *
         * @return the library, to be closed by the caller after its sessions
         * @throws IllegalArgumentException if there is no provider or more than four, or two have the same name
         * @throws InvalidOptionException if an option is of no provider here, unknown, or its value not accepted
         * @throws UnsupportedOperationException if the platform is not Linux on x86-64 or aarch64; nothing is
         *     registered
         * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded or its version is not known, if the library
         *     cannot be written or loaded, or if ONNX Runtime rejects it, as for a name that is taken; if a provider
         *     threw something in a callback, that is the cause
         */
        public PluginLibrary register() {
            return register(Platform.current());
        }

        PluginLibrary register(Platform platform) {
            Machine.requireCode(platform);
            final String ignored = OnnxRuntimeLibrary.version(); // rejects a version that is not known
            return new PluginLibrary(this);
        }
    }
}
