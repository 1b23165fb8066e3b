import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all garbage of this thread at once. Memory outside the heap is released a little later. */
export const collectGarbage = runInNewContext('gc') as () => void;
