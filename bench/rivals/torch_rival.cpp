// PyTorch's caching allocator, as PYTORCH_CUDA_ALLOC_CONF sets it up; SUBJECT is what the results call it.
//
//     RESULTS=results.csv SUBJECT=PyTorch torch_rival TRACE.csv.gz     one trace, in a fresh allocator
//     RESULTS=results.csv SUBJECT=PyTorch torch_rival pairs            alloc+free pairs from many threads
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime.h>

#include "workload.h"

namespace caching = c10::cuda::CUDACachingAllocator;

static void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

static std::string subject() {
  const char* name = std::getenv("SUBJECT");
  return name == nullptr ? "PyTorch" : name;
}

static void replayTrace(const std::string& path) {
  Results results(subject());
  const Trace trace(path);
  const std::string workload = workloadName(path);
  std::vector<cudaStream_t> streams(trace.streams);
  for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  auto* allocator = caching::get();
  const auto pass = [&] {
    const double nanos = replay(
        trace, [&](size_t byteSize, int stream) { return allocator->raw_alloc_with_stream(byteSize, streams[stream]); },
        [&](void* block, int) { allocator->raw_delete(block); });
    for (auto stream : streams) check(cudaStreamSynchronize(stream), "synchronize");
    return nanos;
  };
  pass();
  results.add(workload, 1, "peak_held_bytes", static_cast<double>(caching::getDeviceStats(0).reserved_bytes[0].peak));
  results.add(workload, 1, "ns_per_event_cold", medianOf([&] {
    caching::emptyCache();
    return pass();
  }));
  pass();
  results.add(workload, 1, "ns_per_event_warm", medianOf(pass));
}

static void manyThreads() {
  Results results(subject());
  auto* allocator = caching::get();
  pairs(results, [&] {
    check(cudaSetDevice(0), "cudaSetDevice");
    cudaStream_t stream;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    return [stream, allocator](void* block, size_t byteSize) {
      if (block != nullptr) allocator->raw_delete(block);
      return byteSize == 0 ? nullptr : allocator->raw_alloc_with_stream(byteSize, stream);
    };
  });
}

int main(int count, char** arguments) {
  if (count != 2) fail("usage: torch_rival TRACE.csv.gz | pairs");
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  check(cudaFree(nullptr), "CUDA");
  caching::init(devices);
  const std::string what = arguments[1];
  if (what == "pairs") {
    manyThreads();
  } else {
    replayTrace(what);
  }
  return 0;
}
