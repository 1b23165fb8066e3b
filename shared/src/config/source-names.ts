/** How ingest reads the chain: log lines by PubSub, or whole confirmed blocks. */
export const sourceNames = ['logs', 'blocks'] as const;
export type SourceName = (typeof sourceNames)[number];
