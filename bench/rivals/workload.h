// What the rivals have in common: traces, the work of many threads, and results as lines of CSV,
// subject,workload,threads,metric,value. The same work and the same format as the Java benchmarks.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

inline double nanosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

struct Event {
  bool isAllocation;
  int id;
  size_t byteSize;
  int stream;
};

struct Trace {
  std::vector<Event> events;
  int ids = 0;
  int streams = 1;

  explicit Trace(const std::string& path) {
    FILE* pipe = popen(("gzip -dcf '" + path + "'").c_str(), "r");
    char line[256];
    if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) fail("cannot read " + path);
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      char op;
      int id, stream;
      size_t byteSize;
      if (std::sscanf(line, "%c,%d,%zu,%d", &op, &id, &byteSize, &stream) != 4) fail(path + ": " + line);
      events.push_back({op != 'f', id, byteSize, stream});
      ids = std::max(ids, id + 1);
      streams = std::max(streams, stream + 1);
    }
    pclose(pipe);
  }
};

inline std::string workloadName(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

// Appends to the file that RESULTS names.
class Results {
 public:
  explicit Results(std::string subject) : subject_(std::move(subject)) {
    const char* path = std::getenv("RESULTS");
    if (path == nullptr || (file_ = std::fopen(path, "a")) == nullptr) fail("RESULTS does not name a file");
  }
  ~Results() { std::fclose(file_); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  void add(const std::string& workload, int threads, const char* metric, double value) {
    std::fprintf(file_, "%s,%s,%d,%s,%.4f\n", subject_.c_str(), workload.c_str(), threads, metric, value);
    std::fflush(file_);
  }

 private:
  std::string subject_;
  FILE* file_;
};

// One replay: nanoseconds per event. What lives at the end is freed outside the time.
template <typename Alloc, typename Free>
double replay(const Trace& trace, Alloc alloc, Free free) {
  std::vector<void*> blocks(trace.ids, nullptr);
  const auto start = Clock::now();
  for (const Event& event : trace.events) {
    if (event.isAllocation) {
      blocks[event.id] = alloc(event.byteSize, event.stream);
    } else if (blocks[event.id] != nullptr) {
      free(blocks[event.id], event.stream);
      blocks[event.id] = nullptr;
    }
  }
  const double nanos = nanosSince(start);
  for (void* block : blocks) {
    if (block != nullptr) free(block, 0);
  }
  return nanos / trace.events.size();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// At least three rounds, and up to eleven in a second and a half.
inline double medianOf(const std::function<double()>& round) {
  std::vector<double> values;
  const auto begin = Clock::now();
  while (values.size() < 3 || (values.size() < 11 && nanosSince(begin) < 1.5e9)) values.push_back(round());
  return median(values);
}

// Which of 256 live blocks a thread replaces next, and by how large a one.
struct Pairs {
  static constexpr int kLive = 256;
  static constexpr int kSteps = 1 << 16;
  std::vector<int> slots;
  std::vector<size_t> sizes;

  explicit Pairs(int thread) : slots(kSteps), sizes(kSteps), state_(thread * 7919ull + 1) {
    for (int step = 0; step < kSteps; step++) {
      slots[step] = static_cast<int>(next() % kLive);
      sizes[step] = static_cast<size_t>(256 * std::pow(2.0, (next() % 14000) / 1000.0));
    }
  }

 private:
  uint64_t state_;
  uint64_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return state_ >> 33;
  }
};

// Pairs of free and allocation from several threads, counted over one common second. `make` gives a thread its
// function (block, byteSize) -> block; a size of zero only frees, and a null block is not freed.
template <typename Make>
void pairs(Results& results, Make make) {
  for (int threads : {1, 2, 4, 8, 16}) {
    std::atomic<int> ready{0};
    std::atomic<int> phase{0};
    std::vector<uint64_t> counts(threads, 0);
    std::vector<std::thread> started;
    for (int index = 0; index < threads; index++) {
      started.emplace_back([&, index] {
        auto replace = make();
        const Pairs work(index);
        std::vector<void*> live(Pairs::kLive, nullptr);
        uint64_t inside = 0;
        int step = 0;
        ready++;
        while (ready < threads) std::this_thread::yield();
        for (int now = phase; now != 2; now = phase) {
          constexpr int kBatch = 256;
          for (int i = 0; i < kBatch; i++) {
            void*& block = live[work.slots[step]];
            block = replace(block, work.sizes[step]);
            step = (step + 1) & (Pairs::kSteps - 1);
          }
          if (now == 1 && phase == 1) inside += kBatch;
        }
        counts[index] = inside;
        for (void* block : live) replace(block, 0);
      });
    }
    while (ready < threads) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto start = Clock::now();
    phase = 1;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    phase = 2;
    const double nanos = nanosSince(start);
    for (auto& thread : started) thread.join();
    uint64_t all = 0;
    for (uint64_t count : counts) all += count;
    results.add("pairs", threads, "million_pairs_per_s", all * 1e3 / nanos);
    results.add("pairs", threads, "ns_per_pair", threads * nanos / std::max<uint64_t>(all, 1));
  }
}
