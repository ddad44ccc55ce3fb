package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A thread of a pool has the class loader of the system, which in a nested jar does not have the application. */
class TargetProviderTest {
    private final ClassLoader before = Thread.currentThread().getContextClassLoader();

    @BeforeEach
    void useAClassLoaderWithoutProviders() {
        Thread.currentThread().setContextClassLoader(ClassLoader.getPlatformClassLoader());
    }

    @AfterEach
    void restore() {
        Thread.currentThread().setContextClassLoader(before);
    }

    @Test
    void aProviderBesideThisLibraryIsFoundWhateverTheThreadsClassLoader() {
        final TargetProvider provider = TargetProvider.find("cpu-reference");
        assertEquals("cpu-reference", provider.factory().name());
        provider.closeIfUnused();
    }

    @Test
    void aProviderThatIsNotFoundSaysWhereWasSearched() {
        final String message = assertThrows(IllegalArgumentException.class, () -> TargetProvider.find("green"))
                .getMessage();
        assertTrue(message.contains("class loader of the thread"), message);
        assertTrue(message.contains("META-INF/services/allocator.spi.EpFactory"), message);
        assertTrue(message.contains("cpu-reference"), message);
    }
}
