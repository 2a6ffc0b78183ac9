// SPDX-License-Identifier: Apache-2.0

/** The share in whole percent, rounded down: 100 is all of it. 0 of nothing. */
export function percent(part: number, whole: number): number {
  return Math.floor((100 * part) / Math.max(1, whole));
}
