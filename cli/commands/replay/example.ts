import { fileURLToPath } from 'node:url';

/**
 * 240 transactions of simnet, 20 seconds of its market, as `record` wrote them. Then the few accounts that the other transactions need. An account
 * with the field `derived` was not recorded: the field says how its contents follow from the transactions. Then 37 recorded transactions of mainnet,
 * as one block in a slot of simnet. Then seven transactions of a coin that a real program launched in a virtual machine.
 *
 * `compile/` copies the file into the folder of the compiled programs.
 */
export const exampleRecording = fileURLToPath(new URL('example.jsonl.br', import.meta.url));
