// SPDX-License-Identifier: Apache-2.0
// What can go wrong with a request: the daemon says no, nobody is there to say anything, or the user has moved on.

/** The daemon's answer was an error; `code` is the one of PROTOCOL.md to go by. */
export class RequestError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly remedy = '',
  ) {
    super(message);
  }
}

/** There is no daemon to ask. */
export class NoDaemonError extends Error {}

/** The request was taken back. */
export class CancelledError extends Error {
  constructor() {
    super('cancelled');
  }
}

/** One sentence for a person, with what to do about it where that is known. */
export function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof RequestError && error.remedy !== '' ? `${error.message} (${error.remedy})` : error.message;
}
