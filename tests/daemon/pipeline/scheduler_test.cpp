// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace kvboost::daemon {
namespace {

/// Keeps the scheduler's one thread busy until told, so that what is submitted meanwhile has to queue.
class Plug {
 public:
  explicit Plug(Scheduler& scheduler) {
    scheduler.submit(Priority::kCompletion, {.run =
                                                 [gate = gate_] {
                                                   gate->begun.set_value();
                                                   gate->release.get_future().wait();
                                                 },
                                             .drop = [](const Error&) {},
                                             .stop = {}});
    gate_->begun.get_future().wait();
  }
  void pull() { gate_->release.set_value(); }

 private:
  struct Gate {
    std::promise<void> begun;
    std::promise<void> release;
  };
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

Scheduler::Job record(std::vector<std::string>& order, std::mutex& mutex, std::string name,
                      std::stop_token stop = {}) {
  return {.run =
              [&order, &mutex, name] {
                const std::lock_guard lock(mutex);
                order.push_back(name);
              },
          .drop =
              [&order, &mutex, name](const Error& error) {
                const std::lock_guard lock(mutex);
                order.push_back(name + " dropped: " + std::string(to_string(error.code)));
              },
          .stop = std::move(stop)};
}

TEST(Scheduler, RunsTheMoreUrgentFirstAndEqualsInOrder) {
  std::vector<std::string> order;
  std::mutex mutex;
  {
    Scheduler scheduler("test", 1);
    Plug plug(scheduler);
    scheduler.submit(Priority::kWarm, record(order, mutex, "warm"));
    scheduler.submit(Priority::kAsk, record(order, mutex, "ask 1"));
    scheduler.submit(Priority::kAsk, record(order, mutex, "ask 2"));
    scheduler.submit(Priority::kCompletion, record(order, mutex, "completion"));
    EXPECT_EQ(scheduler.load().queued, 4);
    EXPECT_EQ(scheduler.load().running, 1);
    std::promise<void> last;
    scheduler.submit(Priority::kWarm,
                     {.run = [&] { last.set_value(); }, .drop = [](const Error&) {}, .stop = {}});
    plug.pull();
    last.get_future().wait();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"completion", "ask 1", "ask 2", "warm"}));
}

TEST(Scheduler, DropsAWaitingJobTheMomentItsStopIsRequested) {
  std::vector<std::string> order;
  std::mutex mutex;
  Scheduler scheduler("test", 1);
  Plug plug(scheduler);
  std::stop_source stop;
  scheduler.submit(Priority::kAsk, record(order, mutex, "ask", stop.get_token()));
  stop.request_stop();
  // The thread is still plugged: the answer came from this thread.
  EXPECT_EQ(order, (std::vector<std::string>{"ask dropped: cancelled"}));
  EXPECT_EQ(scheduler.load().queued, 0);
  plug.pull();
}

TEST(Scheduler, NeverRunsAJobWhoseStopCameBeforeItWasSubmitted) {
  std::vector<std::string> order;
  std::mutex mutex;
  {
    Scheduler scheduler("test", 1);
    std::stop_source stop;
    stop.request_stop();
    scheduler.submit(Priority::kAsk, record(order, mutex, "ask", stop.get_token()));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"ask dropped: cancelled"}));
}

TEST(Scheduler, RunningJobLetsOnlyMoreUrgentOnesOvertake) {
  std::vector<std::string> order;
  std::mutex mutex;
  {
    Scheduler scheduler("test", 1);
    std::promise<void> begun;
    std::promise<void> queued;
    std::promise<void> done;
    scheduler.submit(Priority::kAsk, {.run =
                                          [&] {
                                            begun.set_value();
                                            queued.get_future().wait();
                                            scheduler.yield_to_more_urgent(Priority::kAsk);
                                            record(order, mutex, "first ask goes on").run();
                                            done.set_value();
                                          },
                                      .drop = [](const Error&) {},
                                      .stop = {}});
    begun.get_future().wait();
    scheduler.submit(Priority::kAsk, record(order, mutex, "second ask"));
    scheduler.submit(Priority::kCompletion, record(order, mutex, "completion"));
    queued.set_value();
    done.get_future().wait();
    std::promise<void> last;
    scheduler.submit(Priority::kWarm,
                     {.run = [&] { last.set_value(); }, .drop = [](const Error&) {}, .stop = {}});
    last.get_future().wait();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"completion", "first ask goes on", "second ask"}));
}

TEST(Scheduler, AWatchingJobHearsOfMoreUrgentOnesOnly) {
  std::vector<std::string> order;
  std::mutex mutex;
  {
    Scheduler scheduler("test", 1);
    std::promise<void> begun;
    std::promise<void> ended;
    scheduler.submit(Priority::kWarm, {.run =
                                           [&] {
                                             const auto watch = scheduler.watch(Priority::kWarm);
                                             begun.set_value();
                                             std::promise<void> heard;
                                             const std::stop_callback on_stop(watch.token(),
                                                                              [&] { heard.set_value(); });
                                             heard.get_future().wait();
                                             record(order, mutex, "warm gives way").run();
                                             ended.set_value();
                                           },
                                       .drop = [](const Error&) {},
                                       .stop = {}});
    begun.get_future().wait();
    scheduler.submit(Priority::kWarm, record(order, mutex, "more warm"));
    scheduler.submit(Priority::kAsk, record(order, mutex, "ask"));
    ended.get_future().wait();
    std::promise<void> last;
    scheduler.submit(Priority::kWarm,
                     {.run = [&] { last.set_value(); }, .drop = [](const Error&) {}, .stop = {}});
    last.get_future().wait();
    scheduler.submit(Priority::kCompletion, {.run = [] {}, .drop = [](const Error&) {}, .stop = {}});
  }
  EXPECT_EQ(order, (std::vector<std::string>{"warm gives way", "ask", "more warm"}));
}

TEST(Scheduler, AWatchHearsAtOnceOfWhatWaitsAlready) {
  Scheduler scheduler("test", 1);
  Plug plug(scheduler);
  EXPECT_FALSE(scheduler.watch(Priority::kWarm).token().stop_requested());
  scheduler.submit(Priority::kAsk, {.run = [] {}, .drop = [](const Error&) {}, .stop = {}});
  EXPECT_TRUE(scheduler.watch(Priority::kWarm).token().stop_requested());
  EXPECT_FALSE(scheduler.watch(Priority::kAsk).token().stop_requested());
  plug.pull();
}

TEST(Scheduler, CloseDropsWhatWaitsAndWhatComesLater) {
  std::vector<std::string> order;
  std::mutex mutex;
  Scheduler scheduler("test", 1);
  Plug plug(scheduler);
  scheduler.submit(Priority::kAsk, record(order, mutex, "before"));
  scheduler.close();
  scheduler.submit(Priority::kAsk, record(order, mutex, "after"));
  EXPECT_EQ(order, (std::vector<std::string>{"before dropped: busy", "after dropped: busy"}));
  plug.pull();
}

TEST(Scheduler, SurvivesAJobThatThrows) {
  Scheduler scheduler("test", 1);
  scheduler.submit(
      Priority::kAsk,
      {.run = [] { throw std::runtime_error("on purpose"); }, .drop = [](const Error&) {}, .stop = {}});
  std::promise<void> ran;
  scheduler.submit(Priority::kAsk,
                   {.run = [&] { ran.set_value(); }, .drop = [](const Error&) {}, .stop = {}});
  ran.get_future().wait();
  EXPECT_EQ(scheduler.load().queued, 0);
}

TEST(Scheduler, StopsAndRunsRaceWithoutLosingAJob) {
  constexpr int kJobs = 2000;
  std::atomic<int> ended = 0;
  {
    Scheduler scheduler("test", 2);
    for (int i = 0; i < kJobs; ++i) {
      std::stop_source stop;
      scheduler.submit(
          Priority::kAsk,
          {.run = [&] { ++ended; }, .drop = [&](const Error&) { ++ended; }, .stop = stop.get_token()});
      stop.request_stop();
    }
  }
  EXPECT_EQ(ended, kJobs);
}

}  // namespace
}  // namespace kvboost::daemon
