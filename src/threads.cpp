// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace warpbit {
namespace {

thread_local const std::atomic<bool>* t_stop = nullptr;

// Some work that is shared. It lives as long as its call of share(); what is not const is guarded by the pool.
struct Job {
  const std::function<void(int)>& work;
  const int threads;
  const std::atomic<bool>* const stop;
  Job* const outer;  // in whose work this thread shares this
  Job* const root;   // the outermost of these
  int begun = 1;     // calls, with the caller's
  int inside = 0;    // helpers in theirs
  bool is_open = true;
  int active = 1;  // of a root: threads that do its work, or work within it
  std::exception_ptr exception = {};
  std::condition_variable changed = {};

  bool is_within(const Job* other) const {
    const Job* job = this;
    while (job != nullptr && job != other) job = job->outer;
    return job != nullptr;
  }
  bool has_room() const { return is_open && begun < threads; }
};

thread_local Job* t_job = nullptr;  // the innermost that this thread does

class Pool {
 public:
  void post(Job& job);
  // Returns when no helper is inside.
  void close(Job& job, std::exception_ptr exception);

 private:
  void make(int count);
  void help();
  void call(std::unique_lock<std::mutex>& lock, Job& job);
  Job* find();
  int wanted() const;

  std::mutex mutex_;
  std::condition_variable posted_;
  std::vector<Job*> jobs_;  // that are open, as they came
  int helpers_ = 0, idle_ = 0, most_ = kMaxThreads;
};

// Where a helper without work may begin.
Job* Pool::find() {
  const auto found = std::ranges::find_if(
      jobs_, [](const Job* job) { return job->has_room() && job->root->active < job->root->threads; });
  return found == jobs_.end() ? nullptr : *found;
}

// Helpers for whom there is room. What is shared within a job is done by those of the job.
int Pool::wanted() const {
  int out = 0;
  for (const Job* job : jobs_)
    if (job->outer == nullptr && job->has_room()) out += job->threads - job->begun;
  return out;
}

void Pool::post(Job& job) {
  int missing = 0;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    wakes = idle_ > 0 && find() != nullptr;
    if (job.outer == nullptr) {
      missing = std::clamp(wanted() - idle_, 0, std::max(most_ - helpers_, 0));
      helpers_ += missing;
    }
    for (Job* outer = job.outer; outer != nullptr; outer = outer->outer) outer->changed.notify_all();
  }
  if (wakes) posted_.notify_one();
  if (missing > 0) make(missing);
}

// Where the system makes no more, half of those that there are may stay from then on: the work needs memory, too.
void Pool::make(int count) {
  for (int made = 0; made < count; ++made) try {
      std::thread([this] { help(); }).detach();
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      helpers_ -= count - made;
      most_ = helpers_ / 2;
      posted_.notify_all();
      return;
    }
}

void Pool::help() {
  std::unique_lock lock(mutex_);
  while (helpers_ <= most_) {
    Job* const job = find();
    if (job == nullptr) {
      ++idle_;
      posted_.wait(lock);
      --idle_;
      continue;
    }
    ++job->root->active;
    call(lock, *job);
    --job->root->active;
  }
  --helpers_;
}

// Once a call has returned, there is nothing left to begin.
void Pool::call(std::unique_lock<std::mutex>& lock, Job& job) {
  const int number = job.begun++;
  ++job.inside;
  if (idle_ > 0 && find() != nullptr) posted_.notify_one();  // each wakes the next
  lock.unlock();
  std::exception_ptr exception = {};
  Job* const before = std::exchange(t_job, &job);
  try {
    const Stoppable here(job.stop);
    job.work(number);
  } catch (...) {
    exception = std::current_exception();
  }
  t_job = before;
  lock.lock();
  if (exception && !job.exception) job.exception = std::move(exception);
  job.is_open = false;
  if (--job.inside == 0) job.changed.notify_all();
}

// In the meantime the caller helps those for whom it waits.
void Pool::close(Job& job, std::exception_ptr exception) {
  std::unique_lock lock(mutex_);
  if (exception && !job.exception) job.exception = std::move(exception);
  job.is_open = false;
  std::erase(jobs_, &job);
  while (job.inside > 0) {
    const auto within = std::ranges::find_if(
        jobs_, [&](const Job* other) { return other->has_room() && other->is_within(&job); });
    if (within != jobs_.end())
      call(lock, **within);
    else
      job.changed.wait(lock);
  }
}

// Never destroyed: helpers sleep in it when the process ends. A child made by fork has none of them.
Pool* g_pool = new Pool;
const int g_fork_is_noticed = pthread_atfork(nullptr, nullptr, [] {
  g_pool = new Pool;
  t_job = nullptr;
});

}  // namespace

const std::atomic<bool>* stop_flag() {
  return t_stop;
}
Stoppable::Stoppable(const std::atomic<bool>* stop) : before_(std::exchange(t_stop, stop)) {}
Stoppable::~Stoppable() {
  t_stop = before_;
}

int thread_count(int wanted, std::uint64_t pieces) {
  if (omp_get_active_level() >= omp_get_max_active_levels()) return 1;
  const int limit = static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, kMaxThreads));
  const int most = t_job != nullptr ? t_job->root->threads : omp_get_max_threads();
  const int count = wanted > 0 && (t_job == nullptr || wanted < most) ? wanted : most;
  return std::clamp(count, 1, limit);
}

void share(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) return work(0);
  Job* const outer = t_job;
  Job job{.work = work,
          .threads = threads,
          .stop = t_stop,
          .outer = outer,
          .root = outer != nullptr ? outer->root : &job};
  g_pool->post(job);
  std::exception_ptr exception = {};
  t_job = &job;
  try {
    work(0);
  } catch (...) {
    exception = std::current_exception();
  }
  t_job = outer;
  g_pool->close(job, std::move(exception));
  if (job.exception) std::rethrow_exception(job.exception);
}

}  // namespace warpbit
