// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/reuse_samples.h"

namespace kvboost::daemon {
namespace {

constexpr ReuseSample kSamples[] = {
    {"src/ring_buffer.h", R"~(#pragma once

#include <array>
#include <cstddef>
#include <optional>

// A queue of at most N elements. The oldest one is dropped when a new one finds no room.
template <class T, std::size_t N>
class RingBuffer {
 public:
  void push(T value) {
    items_[(first_ + size_) % N] = std::move(value);
    if (size_ < N) {
      ++size_;
    } else {
      first_ = (first_ + 1) % N;
      ++dropped_;
    }
  }

  std::optional<T> pop() {
    if (size_ == 0) return std::nullopt;
    T value = std::move(items_[first_]);
    first_ = (first_ + 1) % N;
    --size_;
    return value;
  }

  std::size_t size() const { return size_; }
  std::size_t dropped() const { return dropped_; }

 private:
  std::array<T, N> items_{};
  std::size_t first_ = 0, size_ = 0, dropped_ = 0;
};
)~"},
    {"tools/report.py", R"~("""Reads a log of requests and prints how long they took, by route."""

import csv
import statistics
import sys
from collections import defaultdict


def read_log(path):
    times = defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["status"] != "200":
                continue
            times[row["route"]].append(float(row["ms"]))
    return times


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: report.py LOG")
    for route, values in sorted(read_log(sys.argv[1]).items()):
        median = statistics.median(values)
        print(f"{route:30} {len(values):6} {median:8.1f} {percentile(values, 0.95):8.1f}")


if __name__ == "__main__":
    main()
)~"},
    {"server/limits.go", R"~(package server

import (
	"errors"
	"sync"
	"time"
)

// ErrTooMany is returned when a client has spent its tokens.
var ErrTooMany = errors.New("too many requests")

// Limiter gives each client a number of tokens that fill up again over time.
type Limiter struct {
	mu      sync.Mutex
	rate    float64 // tokens a second
	burst   float64
	buckets map[string]*bucket
	now     func() time.Time
}

type bucket struct {
	tokens float64
	last   time.Time
}

// Allow takes one token of the client's, or says that there is none.
func (l *Limiter) Allow(client string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b, ok := l.buckets[client]
	if !ok {
		b = &bucket{tokens: l.burst, last: now}
		l.buckets[client] = b
	}
	b.tokens = min(l.burst, b.tokens+now.Sub(b.last).Seconds()*l.rate)
	b.last = now
	if b.tokens < 1 {
		return ErrTooMany
	}
	b.tokens--
	return nil
}
)~"},
    {"web/search.ts", R"~(import { debounce } from "./timing";

export interface Hit {
  path: string;
  line: number;
  score: number;
}

/** Asks the server for matches while the user types, and keeps only the newest answer. */
export class SearchBox {
  private request = 0;

  constructor(
    private readonly input: HTMLInputElement,
    private readonly show: (hits: Hit[]) => void,
  ) {
    input.addEventListener("input", debounce(() => this.search(), 150));
  }

  private async search(): Promise<void> {
    const mine = ++this.request;
    const query = this.input.value.trim();
    if (query.length < 2) {
      this.show([]);
      return;
    }
    const response = await fetch(`/api/search?q=${encodeURIComponent(query)}`);
    if (!response.ok) throw new Error(`search failed: ${response.status}`);
    const hits: Hit[] = await response.json();
    if (mine === this.request) this.show(hits.sort((a, b) => b.score - a.score));
  }
}
)~"},
    {"crates/units/src/lib.rs", R"~(//! Sizes as people write them: "512", "4k", "1.5G".

use std::fmt;

#[derive(Debug, PartialEq)]
pub enum SizeError {
    Empty,
    UnknownUnit(char),
    NotANumber(String),
    TooLarge,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::Empty => write!(f, "a size is missing"),
            SizeError::UnknownUnit(unit) => write!(f, "there is no unit '{unit}'"),
            SizeError::NotANumber(text) => write!(f, "'{text}' is no number"),
            SizeError::TooLarge => write!(f, "the size is too large"),
        }
    }
}

pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let last = text.chars().last().ok_or(SizeError::Empty)?;
    let (digits, factor) = match last.to_ascii_lowercase() {
        'k' => (&text[..text.len() - 1], 1u64 << 10),
        'm' => (&text[..text.len() - 1], 1 << 20),
        'g' => (&text[..text.len() - 1], 1 << 30),
        c if c.is_ascii_digit() => (text, 1),
        c => return Err(SizeError::UnknownUnit(c)),
    };
    let number: f64 = digits.parse().map_err(|_| SizeError::NotANumber(digits.into()))?;
    let bytes = number * factor as f64;
    if bytes >= u64::MAX as f64 { Err(SizeError::TooLarge) } else { Ok(bytes as u64) }
}
)~"},
    {"docs/backup.md", R"~(# Backups

The store is copied every night at 02:00 to the second disk, and once a week to another house.

## What is kept
- The last seven nights, each as a whole copy. Files that did not change are linked, not copied, so that a
  night costs only what is new.
- The last four weeks, and the first week of each month for a year.

## How to restore
1. Stop the service: `systemctl stop store`. While it runs, the files change under the copy.
2. Choose a night: `ls /backup/nights`. The newest is last.
3. Copy it back with `rsync -a --delete /backup/nights/DATE/ /var/lib/store/`.
4. Start the service, and look for the line "opened, checked" in its log. When it says "repairing" instead,
   wait: requests are refused until it is done.

## When a copy fails
The job ends with an error and sends a mail. The copy of that night stays in `/backup/partial` and is removed
by the next one that succeeds. Two failures in a row stop the weekly copy as well.
)~"},
    {"scripts/release.sh", R"~(#!/bin/bash
# Builds, tests and tags a release. Usage: release.sh VERSION
set -euo pipefail

version=${1:?a version is needed, such as 1.4.0}
root=$(git rev-parse --show-toplevel)
cd "$root"

if [ -n "$(git status --porcelain)" ];
then echo "release: there are changes that are not committed" >
    &2 exit 1 fi if git rev - parse - q-- verify "refs/tags/v$version" > / dev / null; then
  echo "release: v$version is there already" >&2
  exit 1
fi

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release
cmake --build "$build" --parallel
ctest --test-dir "$build" --output-on-failure

sed -i "s/^version = .*/version = \"$version\"/" package.toml
git commit -am "Release $version"
git tag -a "v$version" -m "Release $version"
echo "now push: git push origin main v$version"
)~"},
    {"app/src/main/java/store/Inventory.java", R"~(package store;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** How many pieces of each article are in the house. Not thread-safe: one owner. */
public final class Inventory {
    private final Map<String, Integer> pieces = new HashMap<>();
    private final int lowMark;

    public Inventory(int lowMark) {
        if (lowMark < 0) {
            throw new IllegalArgumentException("lowMark is below 0");
        }
        this.lowMark = lowMark;
    }

    public void receive(String article, int count) {
        pieces.merge(article, count, Integer::sum);
    }

    /** Takes pieces out, or nothing at all when there are too few. */
    public boolean take(String article, int count) {
        int there = pieces.getOrDefault(article, 0);
        if (there < count) {
            return false;
        }
        pieces.put(article, there - count);
        return true;
    }

    public Optional<String> firstThatRunsLow() {
        return pieces.entrySet().stream()
                .filter(entry -> entry.getValue() <= lowMark)
                .map(Map.Entry::getKey)
                .sorted()
                .findFirst();
    }
}
)~"},
};

constexpr std::string_view kQuestions[] = {
    "What happens when there is no room for another element, and how can one tell that it happened?",
    "Which of these files reads a file that the user names, and what does it print?",
    "Where is a request refused because a client asked too often? Name the file and the function.",
    "What has to be done first to get the data of last night back?",
    "Which function fails when the text ends with a letter that is no unit, and with which error?",
    "Two answers of the server may arrive in the wrong order. Which class takes care of that, and how?",
    "What does the program do when the version was already tagged?",
    "How many pieces are left after more were asked for than there are?",
};

}  // namespace

std::span<const ReuseSample> reuse_samples() {
  return kSamples;
}

std::span<const std::string_view> reuse_questions() {
  return kQuestions;
}

}  // namespace kvboost::daemon
