// SPDX-License-Identifier: Apache-2.0
// Places that were edited or looked at lately, the latest first: the daemon reads them for what is being written.
import type { Place } from '../wire/messages';

const mostPlaces = 16;
/** Lines that count as one place. */
const near = 24;

export class RecentPlaces {
  private places: Place[] = [];

  touch(path: string, line: number): void {
    const others = this.places.filter((place) => place.path !== path || Math.abs(place.line - line) > near);
    this.places = [{ path, line }, ...others].slice(0, mostPlaces);
  }

  /** Those of other files than the one that is written in. */
  outside(path: string): Place[] {
    return this.places.filter((place) => place.path !== path);
  }
}
