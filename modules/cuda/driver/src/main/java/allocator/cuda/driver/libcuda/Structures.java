package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.MemoryAccess;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemLocationType;

/** Writes the structures that the driver reads, at {@link OutCell#STRUCTURE} of a cell. */
final class Structures {
    private static final int PROPERTIES_LOCATION_TYPE = OutCell.STRUCTURE + 8;
    private static final int PROPERTIES_LOCATION_ID = OutCell.STRUCTURE + 12;
    private static final int ACCESS_LOCATION_ID = OutCell.STRUCTURE + 4;
    private static final int ACCESS_FLAGS = OutCell.STRUCTURE + 8;

    private Structures() {}

    /** {@code CUmemAllocationProp}: type, handle types, location (type, ordinal), then zeros; 32 bytes. */
    static void writeProperties(int cell, int device) {
        OutCell.clearStructure(cell);
        OutCell.setInt(cell, OutCell.STRUCTURE, CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED);
        OutCell.setInt(cell, PROPERTIES_LOCATION_TYPE, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
        OutCell.setInt(cell, PROPERTIES_LOCATION_ID, device);
    }

    /** {@code CUmemAccessDesc}: location (type, ordinal), flags; 12 bytes. */
    static void writeAccess(int cell, int device, MemoryAccess access) {
        OutCell.clearStructure(cell);
        OutCell.setInt(cell, OutCell.STRUCTURE, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
        OutCell.setInt(cell, ACCESS_LOCATION_ID, device);
        OutCell.setInt(cell, ACCESS_FLAGS, access.code());
    }
}
