// SPDX-License-Identifier: Apache-2.0
// At most one thing at a time: what begins ends what went before.

export class LatestOnly {
  private current: AbortController | undefined;

  begin(): AbortController {
    this.current?.abort();
    this.current = new AbortController();
    return this.current;
  }

  cancel(): void {
    this.current?.abort();
    this.current = undefined;
  }
}
