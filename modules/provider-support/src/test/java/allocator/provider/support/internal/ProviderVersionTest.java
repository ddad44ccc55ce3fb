package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;
import org.junit.jupiter.api.Test;

class ProviderVersionTest {
    @Test
    void theVersionOfAModuleIsThatOfItsDescriptor() {
        assertThat(String.class.getModule().getDescriptor().rawVersion()).hasValue(ProviderVersion.of(String.class));
    }

    @Test
    void withoutAVersionThereIsAWordForIt() {
        final byte[] bytes = ClassFile.of().build(ClassDesc.of("none.Provider"), builder -> {});
        final Class<?> inNoModule = new ClassLoader() {
            Class<?> define() {
                return defineClass(null, bytes, 0, bytes.length);
            }
        }.define();
        assertThat(ProviderVersion.of(inNoModule)).isEqualTo("unversioned");
    }
}
