import { createRequire } from 'node:module';
import type * as Anchor from '@coral-xyz/anchor';

/** Node.js does not find this export of anchor, which is CommonJS, by `import`. */
export const { BN } = createRequire(import.meta.url)('@coral-xyz/anchor') as typeof Anchor;
