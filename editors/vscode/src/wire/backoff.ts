// SPDX-License-Identifier: Apache-2.0
// When to try again after a failure: after a second, then twice as long each time, up to a minute.

const first = 1000;
const longest = 60_000;

export class Backoff {
  private wait = 0;
  private until = 0;

  constructor(private readonly now: () => number = Date.now) {}

  get mayTry(): boolean {
    return this.now() >= this.until;
  }

  failed(): void {
    this.wait = this.wait === 0 ? first : Math.min(2 * this.wait, longest);
    this.until = this.now() + this.wait;
  }

  succeeded(): void {
    this.wait = 0;
    this.until = 0;
  }
}
