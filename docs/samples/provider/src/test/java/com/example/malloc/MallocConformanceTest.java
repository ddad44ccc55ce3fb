package com.example.malloc;

import allocator.conformance.AllocatorConformance;
import allocator.spi.EpFactory;

/** The rules of the contract, each a test of this class. */
class MallocConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new MallocFactory();
    }
}
