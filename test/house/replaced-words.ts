/** Words that GLOSSARY.md replaces, with the standard term for each. */
export const replacedWords: Readonly<Record<string, string>> = {
  told: 'published, reported, notified or returned',
  tells: 'publishes, reports, notifies or returns',
  anew: 'again',
  standing: 'status, state or current',
  stands: 'is, or is listed',
  kept: 'stored or retained',
  wanted: 'requested or required',
  whoever: 'the caller, or any client that',
};

/** Files and folders that no longer use these words. Add a folder once it is rewritten. */
export const plainPlaces: readonly string[] = [
  'README.md',
  'GUIDE.md',
  'PROTOCOL.md',
  'TESTING.md',
  'BENCHMARKS.md',
  'gateway/src/stream/',
  'gateway/src/orders/api/',
];
