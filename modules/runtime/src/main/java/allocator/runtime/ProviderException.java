package allocator.runtime;

import allocator.spi.AllocatorException;
import org.jspecify.annotations.Nullable;

/** Thrown when a provider breaks the contract. The message names the provider and what it did. */
public final class ProviderException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The provider, as {@link #provider} gives it. */
    private final String provider;

    /**
     * Makes the exception.
     *
     * @param provider the provider's name
     * @param deed what it did, to follow the provider's name in the message
     * @param cause what it threw, or {@code null}
     */
    ProviderException(String provider, String deed, @Nullable Throwable cause) {
        super("provider " + provider + " " + deed, cause);
        this.provider = provider;
    }

    /** {@return the name of the provider that broke the contract, or its class or jar if it did not report its name} */
    public String provider() {
        return provider;
    }
}
