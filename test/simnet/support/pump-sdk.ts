import { createRequire } from 'node:module';

/** The published SDK; its ES module form does not load in Node, so it is required. */
export const pumpSdk = createRequire(import.meta.url)('@pump-fun/pump-sdk') as typeof import('@pump-fun/pump-sdk');
