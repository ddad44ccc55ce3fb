package jcuda;

import jcuda.runtime.JCuda;

/** Calls one function of the runtime library, which needs no driver. */
final class PrintRuntimeVersion {
    private PrintRuntimeVersion() {}

    public static void main(String[] arguments) {
        final int[] version = new int[1];
        final int result = JCuda.cudaRuntimeGetVersion(version);
        System.out.println("version " + version[0] + ", result " + result);
    }
}
