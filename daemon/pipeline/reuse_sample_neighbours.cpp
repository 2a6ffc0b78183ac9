// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/reuse_samples.h"

namespace kvboost::daemon {
namespace {

constexpr ReuseSample kNeighbours[] = {
    {"src/event_loop.cpp", R"~(// Timers that are due run before the descriptors that are ready.
void EventLoop::run() {
  while (!stopped_) {
    const auto now = Clock::now();
    while (!timers_.empty() && timers_.top().due <= now) {
      Timer timer = timers_.top();
      timers_.pop();
      timer.callback();
      if (timer.period.count() > 0) {
        timer.due = now + timer.period;
        timers_.push(std::move(timer));
      }
    }
    const int wait = timers_.empty() ? -1 : milliseconds_until(timers_.top().due, now);
    const int ready = ::poll(descriptors_.data(), descriptors_.size(), wait);
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    for (std::size_t i = 0; ready > 0 && i < descriptors_.size(); ++i) {
      if (descriptors_[i].revents != 0) handlers_[i](descriptors_[i].revents);
    }
  }
}

void EventLoop::watch(int descriptor, short events, Handler handler) {
  descriptors_.push_back({descriptor, events, 0});
  handlers_.push_back(std::move(handler));
}
)~"},
    {"tools/import_prices.py", R"~(class PriceList:
    """Prices by article, as of a day. A later row of the same article replaces an earlier one."""

    def __init__(self, day):
        self.day = day
        self.prices = {}
        self.rejected = []

    def add(self, row):
        try:
            price = Decimal(row["price"].replace(",", "."))
        except (KeyError, InvalidOperation) as error:
            self.rejected.append((row, str(error)))
            return
        if price < 0:
            self.rejected.append((row, "a price below zero"))
            return
        self.prices[row["article"].strip().upper()] = price

    def changes_from(self, before):
        """Articles whose price is another one than it was, with both prices."""
        for article, price in sorted(self.prices.items()):
            old = before.prices.get(article)
            if old is not None and old != price:
                yield article, old, price


def load(path, day):
    prices = PriceList(day)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            prices.add(row)
    return prices
)~"},
    {"server/session.go", R"~(// Get returns the session of a token, and lengthens its life.
func (s *Store) Get(token string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, found := s.sessions[token]
	if !found {
		return nil, ErrUnknown
	}
	if time.Since(session.lastSeen) > s.lifetime {
		delete(s.sessions, token)
		return nil, ErrExpired
	}
	session.lastSeen = time.Now()
	return session, nil
}

// Sweep removes what has expired; it is called once a minute.
func (s *Store) Sweep() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	removed := 0
	for token, session := range s.sessions {
		if time.Since(session.lastSeen) > s.lifetime {
			delete(s.sessions, token)
			removed++
		}
	}
	return removed
}

func newToken() (string, error) {
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("no randomness: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}
)~"},
    {"web/cart.ts", R"~(export interface Line {
  article: string;
  quantity: number;
  unitPrice: number;
}

/** What is in the basket. Listeners hear of each change once it is saved. */
export class Cart {
  private lines = new Map<string, Line>();
  private listeners = new Set<(lines: Line[]) => void>();

  constructor(private readonly storage: Storage) {
    const saved = storage.getItem("cart");
    for (const line of saved ? (JSON.parse(saved) as Line[]) : []) this.lines.set(line.article, line);
  }

  add(article: string, unitPrice: number, quantity = 1): void {
    const line = this.lines.get(article);
    if (line) line.quantity += quantity;
    else this.lines.set(article, { article, quantity, unitPrice });
    this.save();
  }

  remove(article: string): void {
    if (this.lines.delete(article)) this.save();
  }

  total(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + line.quantity * line.unitPrice, 0);
  }

  private save(): void {
    const lines = [...this.lines.values()];
    this.storage.setItem("cart", JSON.stringify(lines));
    this.listeners.forEach((listener) => listener(lines));
  }
}
)~"},
};

}  // namespace

std::span<const ReuseSample> reuse_neighbours() {
  return kNeighbours;
}

}  // namespace kvboost::daemon
