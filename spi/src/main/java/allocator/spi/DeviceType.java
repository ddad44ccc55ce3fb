package allocator.spi;

import java.util.Locale;

/** The kind of a device. The constants have the order of ONNX Runtime's device types: CPU 0, GPU 1, FPGA 2, NPU 3. */
public enum DeviceType {
    /** A host processor. */
    CPU,
    /** A graphics processor. */
    GPU,
    /** A field-programmable gate array. */
    FPGA,
    /** A neural processor. */
    NPU;

    /** {@return the constant's name in lower case, as used in options, such as {@code gpu} in {@code gpu:0}} */
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
