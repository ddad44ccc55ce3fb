package allocator.conformance.rules.failures;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;

/** What the binding of a driver may throw. */
enum Thrown {
    /** The device has no memory left. */
    SHORTAGE("OutOfMemoryException") {
        @Override
        void raise(MemoryInfo memory) {
            throw new OutOfMemoryException("thrown by the kit", Shortage.ofDevice(memory, 1, 0));
        }
    },
    /** The device fails. */
    DEVICE("DeviceException") {
        @Override
        void raise(MemoryInfo memory) {
            throw new DeviceException("thrown by the kit", null);
        }
    },
    /** The binding fails. */
    RUNTIME("IllegalStateException") {
        @Override
        void raise(MemoryInfo memory) {
            throw new IllegalStateException("thrown by the kit");
        }
    },
    /** The binding is broken. */
    ERROR("an Error") {
        @Override
        void raise(MemoryInfo memory) {
            throw new LinkageError("thrown by the kit");
        }
    },
    /** The Java heap is full. */
    HEAP("OutOfMemoryError") {
        @Override
        void raise(MemoryInfo memory) {
            throw new OutOfMemoryError("thrown by the kit");
        }
    };

    private final String text;

    Thrown(String text) {
        this.text = text;
    }

    /** Returns whether the device or its binding says so, and not the Java virtual machine. */
    boolean isOfTheDevice() {
        return this == SHORTAGE || this == DEVICE || this == RUNTIME;
    }

    /** Throws it. */
    abstract void raise(MemoryInfo memory);

    @Override
    public String toString() {
        return text;
    }
}
