/** Words that the project does not use, with the standard term for each. */
export const replacedWords: Readonly<Record<string, string>> = {
  told: 'published, reported, notified or returned',
  tells: 'publishes, reports, notifies or returns',
  anew: 'again',
  away: 'unavailable, unreachable or disconnected',
  beside: 'in addition to, next to or together with',
  offence: 'fault',
  standing: 'status, state or current',
  stands: 'is, or is listed',
  kept: 'stored or retained',
  wanted: 'requested or required',
  whoever: 'the caller, or any client that',
  whatever: 'any, even if, or also with',
  dense: 'consecutive',
  'another \\w+ than': 'an X other than Y',
};

/** They name these words. Every other text file is checked. */
export const naming: ReadonlySet<string> = new Set(['test/house/replaced-words.ts']);
