package allocator.runtime.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.UnknownAllocatorException;
import allocator.testkit.FakeDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class AllocatorReferenceTest {
    private final AllocatorInstances instances = new AllocatorInstances();
    private final Allocator allocator = new FakeDevice();

    /** The returns that the provider was asked for, by the name of the reference. */
    private final List<String> asked = new ArrayList<>();

    /** The references that the provider counts. */
    private int counted;

    private AllocatorReference create(String name, Consumer<Integer> giveBack) {
        final int[] calls = {0};
        return AllocatorReference.create(
                instances,
                "fake",
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
                throw new IllegalStateException(name + " fails");
            }
            takeBack();
        });
    }

    private void returnAll() {
        final Cleanup cleanup = new Cleanup();
        instances.returnAll(cleanup);
        cleanup.throwIfAny();
    }

    /** It has taken effect, by the contract. */
    @Test
    void aReturnThatTheDeviceFailsIsNotRepeated() {
        final AllocatorReference reference = create("failing", call -> {
            takeBack();
            throw new DeviceException("the device fails", null);
        });
        assertThatThrownBy(reference::release).hasMessage("the device fails");
        returnAll();
        assertThat(asked).containsExactly("failing");
    }

    /** For each only a few steps, where a walk past those that fail again would take minutes. */
    @Test
    void manyThatWaitAreReturnedInLinearTime() {
        final int count = 150_000;
        final IllegalStateException failure = new IllegalStateException("fails");
        final List<AllocatorReference> references = new ArrayList<>();
        final boolean[] doesFail = {true};
        for (int i = 0; i < 2 * count; i++) {
            final boolean isNewer = i >= count;
            references.add(create("many", call -> {
                if (call == 1 || (isNewer && doesFail[0])) {
                    throw failure;
                }
                takeBack();
            }));
        }
        references.forEach(reference -> assertThatThrownBy(reference::release).isSameAs(failure));
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThatThrownBy(this::returnAll).isSameAs(failure));
        assertThat(counted).isEqualTo(count);
        doesFail[0] = false;
        returnAll();
        assertThat(counted).isZero();
        assertThat(instances.references(references.getFirst().instance())).isZero();
    }

    /** What another thread does during a return is done by the provider here. */
    @Nested
    class OtherThreads {
        @Test
        void aReferenceThatAnotherThreadReturnedIsNotReturnedAgain() {
            final AllocatorReference first = createFailingOnce("first");
            final AllocatorReference second = create("second", call -> {
                if (call == 1) {
                    throw new IllegalStateException("second fails");
                }
                returnAll(); // returns the first one, which the outer call has found as well
                takeBack();
            });
            final AllocatorReference ofAnotherUser = create("third", call -> takeBack());
            ofAnotherUser.retain();
            assertThatThrownBy(first::release).hasMessage("first fails");
            assertThatThrownBy(second::release).hasMessage("second fails");
            ofAnotherUser.release();
            assertThat(asked).containsExactly("first", "second");
            ofAnotherUser.release();
            assertThat(asked).containsExactly("first", "second", "third");

            returnAll();

            assertThat(asked).containsExactly("first", "second", "third", "second", "first");
            assertThat(counted).isZero();
        }

        /** Otherwise the provider would take back the reference that it is handing out. */
        @Test
        void noReturnIsRepeatedDuringACallForAnAllocator() {
            final AllocatorReference unsure = create("unsure", call -> {
                takeBack();
                if (call == 1) {
                    throw new IllegalStateException("failed after its effect");
                }
            });
            final AllocatorReference other = AllocatorReference.create(
                    instances,
                    "fake",
                    List.of(),
                    () -> {
                        counted++;
                        assertThatThrownBy(unsure::release).hasMessage("failed after its effect");
                        returnAll();
                        return allocator;
                    },
                    released -> takeBack());
            assertThat(counted).isEqualTo(1);
            assertThat(asked).containsExactly("unsure");

            other.release();
            assertThat(counted).isZero();
            returnAll();
            assertThat(asked).containsExactly("unsure", "unsure");
        }

        @Test
        void aCallForAnAllocatorThatFailsPreventsNoReturn() {
            final AllocatorReference unsure = createFailingOnce("unsure");
            assertThatThrownBy(() -> AllocatorReference.create(
                            instances,
                            "fake",
                            List.of(),
                            () -> {
                                throw new IllegalStateException("no allocator");
                            },
                            released -> {}))
                    .hasMessage("no allocator");
            assertThatThrownBy(unsure::release).hasMessage("unsure fails");
            returnAll();
            assertThat(counted).isZero();
        }

        @Test
        void noReturnIsRepeatedWhileAnotherReferenceIsOnItsWay() {
            final AllocatorReference unsure = create("unsure", call -> {
                takeBack();
                if (call == 1) {
                    throw new IllegalStateException("failed after its effect");
                }
            });
            final AllocatorReference other = create("other", call -> {
                returnAll();
                takeBack();
            });
            assertThatThrownBy(unsure::release).hasMessage("failed after its effect");

            other.release();
            assertThat(asked).containsExactly("unsure", "other");
            assertThat(counted).isZero();

            returnAll();
            assertThat(asked).containsExactly("unsure", "other", "unsure");
            returnAll();
            assertThat(asked).containsExactly("unsure", "other", "unsure");
        }
    }
}
