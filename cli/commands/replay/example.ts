import { fileURLToPath } from 'node:url';

/** 240 transactions of simnet, 20 seconds of its market, as `record` wrote them, and a block of 30 recorded transactions of mainnet. `compile/` copies the file into the folder of the compiled programs. */
export const exampleRecording = fileURLToPath(new URL('example.jsonl.br', import.meta.url));
