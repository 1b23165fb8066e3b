const all = ['uws', 'node'] as const;
export type Transport = (typeof all)[number];

/**
 * The transports over which the suites of the protocol run: the native one, because the protocol does not know its transport.
 * `conformance/node-transport` shows that the other one carries it. `TRANSPORTS=uws,node` (`pnpm test:transports`) runs the suites over both.
 */
export const transports: readonly Transport[] = all.filter((name) => (process.env['TRANSPORTS'] ?? 'uws').split(',').includes(name));

/** `pnpm test:transports` also waits for the native server's own time limits of some ten seconds, which no test can shorten. */
export const waitsForNativeLimits = transports.length === all.length;
