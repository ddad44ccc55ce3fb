package allocator.conformance;

import allocator.conformance.subject.ProviderFixture;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Passes the fixture of a provider's suites to the tests of all chapters. */
final class SharedFixture implements BeforeAllCallback {
    @Override
    public void beforeAll(ExtensionContext context) {
        context.getRequiredTestInstances()
                .findInstance(AllocatorConformance.class)
                .map(AllocatorConformance::fixture)
                .ifPresent(fixture -> ProviderFixture.share(context, fixture));
    }
}
