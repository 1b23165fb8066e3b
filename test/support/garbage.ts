import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all garbage of this thread, at once. What objects held outside the heap is given back a little later. */
export const collectGarbage = runInNewContext('gc') as () => void;
