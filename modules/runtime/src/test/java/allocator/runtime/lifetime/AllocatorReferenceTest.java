package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.UnknownAllocatorException;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;

class AllocatorReferenceTest {
    private final AllocatorInstances instances = new AllocatorInstances();
    private final Allocator allocator = new FakeDevice();

    /** The returns that the provider was asked for, by the name of the reference. */
    private final List<String> asked = new ArrayList<>();

    /** The references that the provider counts. */
    private int counted;

    /** Creates a reference of a provider that is named like it. */
    private AllocatorReference create(String name, IntConsumer giveBack) {
        final int[] calls = {0};
        return new AllocatorReference(
                instances,
                name,
                List.of(),
                () -> {
                    counted++;
                    return allocator;
                },
                released -> {
                    asked.add(name);
                    calls[0]++;
                    giveBack.accept(calls[0]);
                });
    }

    private void takeBack() {
        if (counted == 0) {
            throw new UnknownAllocatorException("no reference is out");
        }
        counted--;
    }

    /** A reference whose first return fails before it has an effect. */
    private AllocatorReference createFailingOnce(String name) {
        return create(name, call -> {
            if (call == 1) {
                throw new DeviceException(name + " has not taken back 64 bytes", null);
            }
            takeBack();
        });
    }

    private void returnAgain() {
        final Failures failures = new Failures();
        instances.returnAgain(provider -> true, failures);
        failures.throwIfAny();
    }

    @Test
    void aReturnThatTheDeviceFailsIsTriedAgain() {
        final AllocatorReference reference = createFailingOnce("failing");
        assertThatThrownBy(reference::release).hasMessage("failing has not taken back 64 bytes");
        assertThat(instances.references(reference.instance())).isOne();
        returnAgain();
        returnAgain();
        assertThat(asked).containsExactly("failing", "failing");
        assertThat(counted).isZero();
        assertThat(instances.references(reference.instance())).isZero();
    }

    @Test
    void aReturnThatHadItsEffectAndFailedIsRejectedOnceAndForgotten() {
        final AllocatorReference reference = create("failing", call -> {
            takeBack();
            throw new IllegalStateException("failed after its effect");
        });
        assertThatThrownBy(reference::release).hasMessage("failed after its effect");
        returnAgain();
        returnAgain();
        assertThat(asked).containsExactly("failing", "failing");
    }

    @Test
    void aReturnOfAnUnknownAllocatorIsNotTriedAgain() {
        final AllocatorReference reference = create("unknown", call -> {
            throw new UnknownAllocatorException("not of this provider");
        });
        assertThatThrownBy(reference::release).isInstanceOf(UnknownAllocatorException.class);
        returnAgain();
        assertThat(asked).containsExactly("unknown");
    }

    @Test
    void onlyTheReferencesOfTheChosenProviderAreReturnedAgain() {
        final AllocatorReference first = createFailingOnce("first");
        final AllocatorReference second = createFailingOnce("second");
        assertThatThrownBy(first::release).isInstanceOf(DeviceException.class);
        assertThatThrownBy(second::release).isInstanceOf(DeviceException.class);
        instances.returnAgain("first"::equals, new Failures());
        assertThat(asked).containsExactly("first", "second", "first");
        returnAgain();
        assertThat(asked).containsExactly("first", "second", "first", "second");
    }

    @Test
    void oneThatFailsAgainKeepsNoOtherFromBeingReturned() {
        final AllocatorReference failing = create("failing", call -> {
            throw new IllegalStateException("fails");
        });
        final AllocatorReference other = createFailingOnce("other");
        assertThatThrownBy(other::release).isInstanceOf(DeviceException.class);
        assertThatThrownBy(failing::release).hasMessage("fails");
        assertThatThrownBy(this::returnAgain).hasMessage("fails");
        assertThat(counted).isOne();
        assertThat(instances.references(other.instance())).isOne();
    }

    @Test
    void onlyTheLastUserReturnsIt() {
        final AllocatorReference reference = create("shared", call -> takeBack());
        reference.retain();
        reference.release();
        assertThat(asked).isEmpty();
        reference.release();
        assertThat(asked).containsExactly("shared");
    }

    @Test
    void aCallForAnAllocatorThatFailsCountsNothing() {
        assertThatThrownBy(() -> new AllocatorReference(
                        instances,
                        "fake",
                        List.of(),
                        () -> {
                            throw new IllegalStateException("no allocator");
                        },
                        released -> {}))
                .hasMessage("no allocator");
        final AllocatorReference reference = create("later", call -> takeBack());
        assertThat(instances.references(reference.instance())).isOne();
    }
}
