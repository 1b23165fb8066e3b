import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installedPackage } from '@sluice/shared/runtime/thread/installed-package.ts';
import type * as UwsModule from 'uWebSockets.js';
import { uwsBinaries } from './uws-binaries.ts';

export type Uws = typeof UwsModule;

/** Name of a function that the library's types do not list. Called with this text, the library omits its header (`uWebSockets: 20`) from answers. */
const configure = '_cfg';
const withoutMark = '999999990007';

type UwsFault = 'not_pinned' | 'not_readable' | 'hash_mismatch' | 'load_failed';
const unavailable = (reason: UwsFault, detail: unknown) => ({ kind: 'unavailable', reason, detail: String(detail) }) as const;

const require = createRequire(import.meta.url);
const place = installedPackage('uWebSockets.js');

/** Loads the native server if its binary has the pinned hash; otherwise returns the reason. */
export function loadUws(platform = `${process.platform}_${process.arch}_${process.versions.modules}`, pinned = uwsBinaries) {
  const expected = pinned[platform];
  if (expected === undefined) return unavailable('not_pinned', platform);
  let actual: string;
  try {
    const file = join(dirname(require.resolve(place)), `uws_${platform}.node`);
    actual = createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    return unavailable('not_readable', error);
  }
  if (actual !== expected) return unavailable('hash_mismatch', actual);
  try {
    const uws = require(place) as Uws & Readonly<Record<typeof configure, (text: string) => void>>;
    uws[configure](withoutMark);
    return { kind: 'loaded', uws } as const;
  } catch (error) {
    return unavailable('load_failed', error);
  }
}
