// cudaMallocAsync and cudaMalloc.
//
//     RESULTS=results.csv cuda_rival TRACE.csv.gz     one trace through both
//     RESULTS=results.csv cuda_rival pairs            alloc+free pairs of cudaMallocAsync from many threads
#include <cuda_runtime.h>

#include "workload.h"

static void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

static void keepAll(cudaMemPool_t pool) {
  uint64_t all = ~0ull;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "release threshold");
}

static cudaMemPool_t newPool() {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 0;
  cudaMemPool_t pool;
  check(cudaMemPoolCreate(&pool, &props), "cudaMemPoolCreate");
  keepAll(pool);
  return pool;
}

static void replayAsync(const Trace& trace, const std::string& workload) {
  Results results("cudaMallocAsync");
  std::vector<cudaStream_t> streams(trace.streams);
  for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cudaMemPool_t pool = nullptr;
  const auto alloc = [&](size_t byteSize, int stream) {
    void* block = nullptr;
    check(cudaMallocFromPoolAsync(&block, byteSize, pool, streams[stream]), "cudaMallocFromPoolAsync");
    return block;
  };
  const auto free = [&](void* block, int stream) { check(cudaFreeAsync(block, streams[stream]), "cudaFreeAsync"); };
  const auto pass = [&] {
    const double nanos = replay(trace, alloc, free);
    for (auto stream : streams) check(cudaStreamSynchronize(stream), "synchronize");
    return nanos;
  };
  results.add(workload, 1, "ns_per_event_cold", medianOf([&] {
    pool = newPool();
    const double nanos = pass();
    check(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
    return nanos;
  }));
  pool = newPool();
  pass();
  uint64_t held = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &held), "reserved");
  results.add(workload, 1, "peak_held_bytes", static_cast<double>(held));
  results.add(workload, 1, "ns_per_event_warm", medianOf(pass));
  check(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
  for (auto stream : streams) check(cudaStreamDestroy(stream), "stream");
}

// Nothing is kept, so there is one state only; once, as it is slow.
static void replayPlain(const Trace& trace, const std::string& workload) {
  Results results("cudaMalloc");
  const double nanos = replay(
      trace,
      [](size_t byteSize, int) {
        void* block = nullptr;
        check(cudaMalloc(&block, byteSize), "cudaMalloc");
        return block;
      },
      [](void* block, int) { check(cudaFree(block), "cudaFree"); });
  results.add(workload, 1, "ns_per_event_cold", nanos);
  results.add(workload, 1, "ns_per_event_warm", nanos);
}

static void manyThreads() {
  Results results("cudaMallocAsync");
  cudaMemPool_t pool = newPool();
  pairs(results, [&] {
    check(cudaSetDevice(0), "cudaSetDevice");
    cudaStream_t stream;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    return [stream, pool](void* block, size_t byteSize) {
      if (block != nullptr) check(cudaFreeAsync(block, stream), "cudaFreeAsync");
      void* next = nullptr;
      if (byteSize != 0) check(cudaMallocFromPoolAsync(&next, byteSize, pool, stream), "cudaMallocFromPoolAsync");
      return next;
    };
  });
}

int main(int count, char** arguments) {
  if (count != 2) fail("usage: cuda_rival TRACE.csv.gz | pairs");
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaFree(nullptr), "CUDA");
  const std::string what = arguments[1];
  if (what == "pairs") {
    manyThreads();
  } else {
    const Trace trace(what);
    replayAsync(trace, workloadName(what));
    replayPlain(trace, workloadName(what));
  }
  return 0;
}
