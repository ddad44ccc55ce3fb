package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.EpFactory;
import allocator.testkit.FakeFactory;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The search goes on after what service loaders throw, on the module path and on the class path. */
class ProviderSearchTest {
    private final ProviderSearch search = new ProviderSearch();

    private static ServiceLoader.Provider<EpFactory> provider(Supplier<EpFactory> factory) {
        return new ServiceLoader.Provider<>() {
            @Override
            public Class<? extends EpFactory> type() {
                return FakeFactory.class;
            }

            @Override
            public EpFactory get() {
                return factory.get();
            }
        };
    }

    /** Yields each step's result; a step may throw from {@code hasNext} or from {@code next}. */
    private static Iterator<ServiceLoader.Provider<EpFactory>> iterator(
            List<Supplier<ServiceLoader.Provider<EpFactory>>> steps, boolean throwsFromHasNext) {
        final Iterator<Supplier<ServiceLoader.Provider<EpFactory>>> iterator = steps.iterator();
        return new Iterator<>() {
            private ServiceLoader.Provider<EpFactory> ready;

            @Override
            public boolean hasNext() {
                if (throwsFromHasNext && ready == null && iterator.hasNext()) {
                    ready = iterator.next().get();
                }
                return ready != null || iterator.hasNext();
            }

            @Override
            public ServiceLoader.Provider<EpFactory> next() {
                final ServiceLoader.Provider<EpFactory> result =
                        ready != null ? ready : iterator.next().get();
                ready = null;
                return result;
            }
        };
    }

    @Test
    void brokenProvidersAreSkippedWhereverTheLoaderThrows() {
        for (final boolean fromHasNext : List.of(false, true)) {
            final ProviderSearch search = new ProviderSearch();
            search.scan(
                    iterator(
                            List.of(
                                    () -> provider(() -> FakeFactory.cpu("First")),
                                    () -> {
                                        throw new ServiceConfigurationError(
                                                "allocator.spi.EpFactory: Provider a.Missing not found");
                                    },
                                    () -> {
                                        throw new NoClassDefFoundError("a/Base");
                                    },
                                    () -> provider(() -> FakeFactory.cpu("Last"))),
                            fromHasNext),
                    null);
            final SearchResult found = search.result(List.of());
            assertThat(found.factories())
                    .extracting(loaded -> loaded.factory().name())
                    .containsExactly("First", "Last");
            assertThat(found.skipped())
                    .extracting(SkippedProvider::name)
                    .containsExactly("a.Missing", "java.lang.NoClassDefFoundError: a/Base");
        }
    }

    @Test
    void aFactoryThatCannotBeConstructedIsReportedByItsClass() {
        search.scan(
                iterator(
                        List.of(() -> provider(() -> {
                            throw new ServiceConfigurationError(
                                    "could not be instantiated", new UnsatisfiedLinkError("x"));
                        })),
                        false),
                null);
        assertThat(search.result(List.of()).skipped()).singleElement().satisfies(skipped -> {
            assertThat(skipped.name()).isEqualTo(FakeFactory.class.getName());
            assertThat(skipped.reason())
                    .contains("could not be instantiated; caused by java.lang.UnsatisfiedLinkError: x");
        });
    }

    @Test
    void aLoaderThatNeverAdvancesIsGivenUp() {
        final AtomicInteger calls = new AtomicInteger();
        search.scan(
                new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        calls.incrementAndGet();
                        throw new ServiceConfigurationError("cannot read");
                    }

                    @Override
                    public ServiceLoader.Provider<EpFactory> next() {
                        throw new AssertionError();
                    }
                },
                null);
        assertThat(calls.get()).isLessThan(1000);
        assertThat(search.skippedCount()).isPositive();
    }
}
