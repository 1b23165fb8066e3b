/** Folder of the compiled programs: this module's own once it is compiled; the newest build while the sources themselves run, as in tests. */
const folder = new URL(import.meta.url.endsWith('.ts') ? '../../../.build/current/' : './', import.meta.url);

/** Address of a compiled program, by its name in `compile/programs.mjs`. */
export function programUrl(name: 'signer' | 'keeper-thread' | 'follower-thread' | 'answers-thread' | 'thread'): URL {
  return new URL(`${name}.js`, folder);
}
