import { createRequire } from 'node:module';
import type * as PumpSdk from '@pump-fun/pump-sdk';

/** The published SDK. Its ES module form does not load in Node, so it is loaded with `require`. */
export const pumpSdk = createRequire(import.meta.url)('@pump-fun/pump-sdk') as typeof PumpSdk;
