package allocator.runtime;

import allocator.spi.EpDevice;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A provider that was found, or a jar that was expected to contain one, and why it is not used if it is not.
 *
 * @param name the provider's name; its class or jar if it did not report its name
 * @param vendor its vendor, empty if not known
 * @param version its version, empty if not known
 * @param priority its priority among providers of the same device, see {@link allocator.spi.EpFactory#priority}; 0 if
 *     not known
 * @param module its module, empty if it has none or if not known
 * @param origin where it was found: the location of its jar, or {@code application} if it was registered by a call
 * @param devices the devices it serves
 * @param notes remarks of the provider or the runtime for a person to read, such as why there is no device
 * @param failure why the provider is not used; empty if it is
 */
public record ProviderReport(
        String name,
        String vendor,
        String version,
        int priority,
        String module,
        String origin,
        List<EpDevice> devices,
        List<String> notes,
        Optional<String> failure) {

    /** Copies the lists. */
    public ProviderReport {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(vendor, "vendor");
        Objects.requireNonNull(version, "version");
        Objects.requireNonNull(module, "module");
        Objects.requireNonNull(origin, "origin");
        Objects.requireNonNull(failure, "failure");
        devices = List.copyOf(devices);
        notes = List.copyOf(notes);
    }

    /** {@return whether the provider is registered} If a registered provider has no device, the notes say why. */
    public boolean isRegistered() {
        return failure.isEmpty();
    }

    static ProviderReport failed(String name, String module, String origin, String failure) {
        return new ProviderReport(name, "", "", 0, module, origin, List.of(), List.of(), Optional.of(failure));
    }
}
