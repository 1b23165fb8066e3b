/**
 * Folder of the compiled programs. A compiled module uses its own folder; sources that run directly, as in tests, use the newest build.
 */
const folder = new URL(import.meta.url.endsWith('.ts') ? '../../../../.build/current/' : './', import.meta.url);

/** Address of a compiled program, by its name in `compile/programs.mjs`. */
export function programUrl(name: 'signer' | 'log-followers' | 'grpc-thread' | 'follower-thread' | 'answers-thread' | 'thread'): URL {
  return new URL(`${name}.js`, folder);
}
