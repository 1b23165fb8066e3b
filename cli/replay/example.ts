import { fileURLToPath } from 'node:url';

/** 240 transactions of simnet, 20 seconds of its market, as `record` wrote them. `compile/` copies the file beside the compiled programs. */
export const exampleRecording = fileURLToPath(new URL('example.jsonl.br', import.meta.url));
