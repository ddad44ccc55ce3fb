package allocator.provider.support.platform;

/** A processor, as far as native code differs. */
public enum Processor {
    /** x86-64. */
    X86_64,
    /** 64-bit Arm. */
    AARCH64,
    /** Another one of 64 bits, for which a JDK 25 exists and Linux has the numbers of most processors. */
    OTHER_64_BIT,
    /** One of 32 bits, or unknown. */
    OTHER;

    static Processor of(String osArch) {
        return switch (osArch) {
            case "amd64", "x86_64" -> X86_64;
            case "aarch64", "arm64" -> AARCH64;
            case "loongarch64", "ppc64", "ppc64le", "riscv64", "s390x" -> OTHER_64_BIT;
            default -> OTHER;
        };
    }

    /** Returns whether addresses and {@code size_t} have 64 bits. */
    public boolean has64Bits() {
        return this != OTHER;
    }
}
