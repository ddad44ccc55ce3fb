package com.example.buddy;

import allocator.conformance.AllocatorConformance;
import allocator.spi.EpFactory;

class BuddyConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new BuddyFactory();
    }
}
